//! `collapsar check`: tells what of a model can be collapsed and why, and draws it.
//!
//! - `report`: what is printed
//! - `layout`: where nodes and plates of the drawing go
//! - `arrows`: how its edges run
//! - `svg`: the drawing as SVG
//! - `dot`: the same for Graphviz

mod arrows;
mod dot;
mod layout;
mod report;
mod svg;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use collapsar::graph::Role;
use collapsar_bugs::outline::{Node, NodeKind, Outline};
use collapsar_formats::{read_data, write_atomically};

use crate::common::Common;
use crate::files::check_target;
use crate::fit::source::{Source, SourceArgs};

const EXAMPLES: &str = "\
Examples:
  collapsar check rats.bug                          is the text right? what depends on what?
  collapsar check rats.bug --data rats.json         what is collapsed, what is not, and why
  collapsar check rats.bug --data rats.json --collapse alpha
                                                    may this be collapsed instead?
  collapsar check rats.bug --data rats.json --svg rats.svg
                                                    a drawing with plates";

/// Check a model in the BUGS language: what of it can be collapsed, and why
///
/// Fits nothing. Blocks of a class are treated alike; those of two classes that meet in a term of the
/// log joint cannot both be integrated out, and the line where they meet is told.
#[derive(Debug, Args)]
#[command(override_usage = "collapsar check <MODEL> [--data <FILE>...] [OPTIONS]")]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Draw the model to FILE as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw the model to FILE for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
}

pub(crate) fn run(args: &CheckArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.source.check()?;
    let source = Source::read(&args.source.model, common)?;
    let data = read_data(&args.source.data)?;
    let outline = source.model.outline(&data);
    let mut drawing = Drawing::of(&outline);
    let text = if args.source.data.is_empty() {
        report::outline(&source, &outline)
    } else {
        let prepared = source.with(data, common)?;
        let compiled = source.compile(&prepared, &args.source)?;
        let classes = compiled.choice().classes.iter();
        let collapsed = classes.filter(|class| class.role == Role::Collapsed);
        let collapsed: Vec<&String> = collapsed.flat_map(|class| &class.names).collect();
        for (node, mark) in drawing.outline.nodes.iter().zip(&mut drawing.collapsed) {
            *mark = node.kind == NodeKind::Unknown && collapsed.contains(&&node.name);
        }
        report::classes(&source, &compiled, &prepared, &args.source.explicit)
    };
    if let Some(file) = &args.svg {
        write(file, &svg::picture(&source.name, &drawing))?;
    }
    if let Some(file) = &args.dot {
        write(file, &dot::graph(&drawing))?;
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    check_target(file, "the drawing")?;
    Ok(write_atomically(file, |out| {
        out.write_all(text.as_bytes())
    })?)
}

/// What is drawn: constants are left out.
struct Drawing {
    outline: Outline,
    /// Whether each node is integrated out.
    collapsed: Vec<bool>,
}

impl Drawing {
    fn of(outline: &Outline) -> Self {
        let mut places = vec![None; outline.nodes.len()];
        let mut nodes: Vec<Node> = vec![];
        for (place, node) in places.iter_mut().zip(&outline.nodes) {
            if node.kind != NodeKind::Constant {
                *place = Some(nodes.len());
                nodes.push(node.clone());
            }
        }
        let edges = outline.edges.iter();
        let edges = edges.filter_map(|&(parent, child)| Some((places[parent]?, places[child]?)));
        Self {
            collapsed: vec![false; nodes.len()],
            outline: Outline {
                edges: edges.collect(),
                nodes,
            },
        }
    }
}
