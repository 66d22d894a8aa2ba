//! Reads JSON lines: texts in a field of objects, or as plain strings.

use serde_json::{Map, Value};

use crate::error::{Error, Result, json_cause, shortened};
use crate::lines::Lines;

use super::columns;
use super::gather::Gatherer;
use super::source::decode;

pub(super) fn read(mut lines: Lines, gatherer: &mut Gatherer<'_>) -> Result<()> {
    let options = gatherer.options;
    let expected = "a JSON object or string a line";
    let mut field = options.text_column.clone();
    while lines.next_filled()? {
        let (path, place) = (&lines.path, lines.place());
        let (line, replaced) = decode(path, place, &lines.bytes, options.invalid_utf8)?;
        gatherer.note(replaced);
        let value: Value = serde_json::from_str(&line).map_err(|error| {
            let (cause, byte) = (json_cause(&error), error.column());
            lines.refuse(format!("no JSON ({cause} at byte {byte})"), expected)
        })?;
        let number = gatherer.number().to_string();
        match value {
            Value::String(text) => gatherer.push(number, text)?,
            Value::Object(mut object) => {
                let id = options.id_column.as_deref();
                let field = match &field {
                    Some(field) => field,
                    None => field.insert(text_field(path, &object, id)?),
                };
                let name = match id {
                    Some(id) => name(&lines, &object, id)?,
                    None => number,
                };
                let text = match object.remove(field) {
                    Some(Value::String(text)) => text,
                    // A document without content, as tables write it.
                    Some(Value::Null) => String::new(),
                    Some(other) => {
                        let found = format!("{} in field {field:?}", kind(&other));
                        return Err(lines.refuse(found, "a string"));
                    }
                    None => return Err(missing(&lines, &object, field)),
                };
                gatherer.push(name, text)?;
            }
            other => return Err(lines.refuse(kind(&other), expected)),
        }
    }
    gatherer.some("empty lines")
}

/// The field of the text, by the first object.
fn text_field(path: &str, object: &Map<String, Value>, id: Option<&str>) -> Result<String> {
    let names: Vec<String> = object.keys().cloned().collect();
    let id = id.and_then(|id| names.iter().position(|name| name == id));
    let is_text = |index: usize| object[&names[index]].is_string();
    let index = columns::text(path, "field", &names, is_text, id)?;
    Ok(names[index].clone())
}

fn name(lines: &Lines, object: &Map<String, Value>, id: &str) -> Result<String> {
    match object.get(id) {
        Some(Value::String(name)) => Ok(name.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(other) => {
            let found = format!("{} in field {id:?}", kind(other));
            Err(lines.refuse(found, "a string or a number"))
        }
        None => Err(missing(lines, object, id)),
    }
}

fn missing(lines: &Lines, object: &Map<String, Value>, field: &str) -> Error {
    let names: Vec<&str> = object.keys().take(12).map(String::as_str).collect();
    let found = format!("fields {}", shortened(&format!("{names:?}"), 200));
    lines.refuse(found, format!("one named {field:?}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
