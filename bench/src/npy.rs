//! Arrays of float64 with two axes, as NumPy saves them, and labels one a line.
//!
//! Read straight into the one vector that a fit needs: the library's own reader checks more and
//! holds a second copy while it does, which would be counted in the peak.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};

use crate::Failure;

/// Row-major values and their number of columns.
pub(crate) struct Array {
    pub(crate) values: Vec<f64>,
    pub(crate) columns: usize,
}

pub(crate) fn read(path: &str) -> Result<Array, Failure> {
    let mut reader = BufReader::new(File::open(path).map_err(|error| format!("{path}: {error}"))?);
    let mut start = [0; 10];
    reader.read_exact(&mut start)?;
    if &start[..7] != b"\x93NUMPY\x01" {
        return Err(format!("{path}: not an NPY file of version 1").into());
    }
    let mut header = vec![0; usize::from(u16::from_le_bytes([start[8], start[9]]))];
    reader.read_exact(&mut header)?;
    let header = String::from_utf8(header)?;
    if !header.contains("'<f8'") || !header.contains("'fortran_order': False") {
        return Err(format!("{path}: {header}, expected '<f8' in C order").into());
    }
    let shape = header
        .split_once("'shape': (")
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(shape, _)| shape.split(',').map(|n| n.trim().parse()).collect());
    let Some(Ok::<Vec<usize>, _>(shape)) = shape else {
        return Err(format!("{path}: {header}, expected a shape of two axes").into());
    };
    let &[rows, columns] = shape.as_slice() else {
        return Err(format!("{path}: {} axes, expected 2", shape.len()).into());
    };
    let mut values = vec![0.0; rows * columns];
    let mut bytes = [0; 8];
    for value in &mut values {
        reader.read_exact(&mut bytes)?;
        *value = f64::from_le_bytes(bytes);
    }
    Ok(Array { values, columns })
}

pub(crate) fn write(path: &str, values: &[f64], columns: usize) -> Result<(), Failure> {
    let mut writer = BufWriter::new(File::create(path)?);
    let shape = format!("({}, {columns})", values.len() / columns);
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    // The format wants the values to begin at a multiple of 64 bytes, after a line end.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    writer.write_all(&u16::try_from(padded)?.to_le_bytes())?;
    writeln!(writer, "{header:<width$}", width = padded - 1)?;
    for value in values {
        writer.write_all(&value.to_le_bytes())?;
    }
    Ok(writer.flush()?)
}

pub(crate) fn read_labels(path: &str) -> Result<Vec<usize>, Failure> {
    let reader = BufReader::new(File::open(path).map_err(|error| format!("{path}: {error}"))?);
    reader
        .lines()
        .skip(1)
        .map(|line| Ok(line?.trim().parse()?))
        .collect()
}

pub(crate) fn write_labels(path: &str, labels: &[usize]) -> Result<(), Failure> {
    let mut writer = BufWriter::new(File::create(path)?);
    writeln!(writer, "label")?;
    for label in labels {
        writeln!(writer, "{label}")?;
    }
    Ok(writer.flush()?)
}
