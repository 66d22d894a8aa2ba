//! Makes the seeds that are not text again: `cargo run --release -p collapsar-fuzz --example seeds`, where a format changes.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use noodles_fasta::record::{Definition, Sequence};
use noodles_fasta::{Record, Repository};
use noodles_sam::alignment::io::Write as _;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

type Done = Result<(), Box<dyn Error>>;

fn main() -> Done {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let folder = |name: &str| -> std::io::Result<PathBuf> {
        let folder = seeds.join(name);
        fs::create_dir_all(&folder).map(|()| folder)
    };
    let checkpoints = folder("checkpoint")?;
    for way in 0..7 {
        for jumps in [false, true] {
            checkpoint(way, jumps, &checkpoints)?;
        }
    }
    let tables = folder("parquet")?;
    let codecs = [
        ("plain", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ("gzip", Compression::GZIP(GzipLevel::default())),
    ];
    for (name, codec) in codecs {
        table(codec, &tables.join(name))?;
    }
    let (sam, cram) = (folder("sam")?, folder("cram")?);
    // Not "reads": the writer takes no records without bases.
    for name in ["one", "pair"] {
        alignments(&fs::read(sam.join(name))?, &cram.join(name))?;
    }
    Ok(())
}

/// A run's state, behind the byte that says of which direction it is.
fn checkpoint(way: usize, jumps: bool, folder: &Path) -> Done {
    let path = folder.join(format!("{way}{}", if jumps { "-jumps" } else { "" }));
    collapsar_fuzz::checkpoint(way, jumps, &path)?;
    let mut bytes = vec![b'0' + 2 * way as u8 + u8::from(jumps)];
    bytes.extend(fs::read(&path)?);
    Ok(fs::write(path, bytes)?)
}

fn table(codec: Compression, path: &Path) -> Done {
    let schema = "message t { required double a; optional int32 b; required binary c (UTF8); }";
    let schema = Arc::new(parse_message_type(schema)?);
    let properties = WriterProperties::builder().set_compression(codec).build();
    let mut bytes = vec![];
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    for group in [1.0, 3.0] {
        let mut rows = writer.next_row_group()?;
        if let Some(mut column) = rows.next_column()? {
            let values = [group, group + 1.0, -0.5];
            column
                .typed::<DoubleType>()
                .write_batch(&values, None, None)?;
            column.close()?;
        }
        if let Some(mut column) = rows.next_column()? {
            column
                .typed::<Int32Type>()
                .write_batch(&[7, -8], Some(&[1, 0, 1]), None)?;
            column.close()?;
        }
        if let Some(mut column) = rows.next_column()? {
            let texts = ["ash bee", "cat", "ash"].map(ByteArray::from);
            column
                .typed::<ByteArrayType>()
                .write_batch(&texts, None, None)?;
            column.close()?;
        }
        rows.close()?;
    }
    writer.close()?;
    Ok(fs::write(path, bytes)?)
}

/// CRAM of the reads of a text, against the bases that the fuzz target makes up.
fn alignments(text: &[u8], path: &Path) -> Done {
    let mut reader = noodles_sam::io::Reader::new(text);
    let header = reader.read_header()?;
    let bases = |length: usize| collapsar_fuzz::bases(length as u32);
    let targets = header.reference_sequences().iter().map(|(name, map)| {
        let bases = Sequence::from(bases(map.length().get()));
        Record::new(Definition::new(name.as_slice(), None), bases)
    });
    let repository = Repository::new(targets.collect::<Vec<_>>());
    let mut bytes = vec![];
    let mut writer = noodles_cram::io::writer::Builder::default()
        .set_reference_sequence_repository(repository)
        .build_from_writer(&mut bytes);
    writer.write_header(&header)?;
    for record in reader.record_bufs(&header) {
        writer.write_alignment_record(&header, &record?)?;
    }
    writer.try_finish(&header)?;
    drop(writer);
    Ok(fs::write(path, bytes)?)
}
