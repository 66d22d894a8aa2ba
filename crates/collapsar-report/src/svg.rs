//! Vega-Lite specifications as SVG, without a browser: the programs of the page in a small JavaScript engine, which has no
//! file, no network and no clock of the machine.

use rquickjs::{CatchResultExt, Context, Ctx, Runtime};
use serde_json::Value;

use crate::page::{VEGA, VEGA_LITE};

/// Bytes of the engine's stack, of its heap, and jobs after which a drawing that does not end is given up.
const STACK: usize = 1 << 20;
const HEAP: usize = 1 << 30;
const JOBS: usize = 10_000_000;

/// What these programs want of their surroundings, and how wide letters are without a page to measure them on: those of
/// Helvetica, about.
const SURROUNDINGS: &str = r"
globalThis.structuredClone ??= (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
globalThis.setTimeout ??= (job) => { Promise.resolve().then(job); return 0; };
globalThis.clearTimeout ??= () => {};
globalThis.console ??= { log() {}, info() {}, debug() {}, warn() {}, error() {} };
";
const DRAW: &str = r#"
globalThis.widths = (text) => {
  let sum = 0;
  for (const letter of text) {
    if ("ijl.,:;'|!I()[]{}ftr \u2019".includes(letter)) sum += 0.32;
    else if ("mwMW@%".includes(letter)) sum += 0.88;
    else if (/[A-Z0-9\u0394-\u03a9]/.test(letter)) sum += 0.62;
    else sum += letter.codePointAt(0) > 0x2e80 ? 1 : 0.54;
  }
  return sum;
};
const metrics = vega.textMetrics;
if (metrics) metrics.width = (item, text) => {
  const value = Array.isArray(text) ? text.join(" ") : String(text ?? item.text ?? "");
  return widths(value) * (item.fontSize || 11);
};
globalThis.draw = (text) => {
  globalThis.drawn = null;
  globalThis.refused = null;
  try {
    const spec = vegaLite.compile(JSON.parse(text)).spec;
    const view = new vega.View(vega.parse(spec), { renderer: "none", logLevel: vega.Error });
    view.toSVG().then((svg) => { globalThis.drawn = svg; }, (error) => { globalThis.refused = String(error); });
  } catch (error) { globalThis.refused = String(error); }
};
"#;

/// The programs, loaded once.
pub(crate) struct Painter {
    runtime: Runtime,
    context: Context,
}

impl Painter {
    pub(crate) fn new() -> Result<Self, String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_max_stack_size(STACK);
        runtime.set_memory_limit(HEAP);
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|of| {
            let programs = [SURROUNDINGS, VEGA, VEGA_LITE, DRAW];
            programs.into_iter().try_for_each(|text| eval(&of, text))
        })?;
        Ok(Self { runtime, context })
    }

    /// A specification that has all its data as a drawing.
    pub(crate) fn svg(&self, spec: &Value) -> Result<String, String> {
        self.context.with(|of| {
            let text = spec.to_string();
            let globals = of.globals();
            globals
                .set("spec", text)
                .map_err(|error| error.to_string())?;
            eval(&of, "draw(spec)")
        })?;
        let mut jobs = 0;
        while self.runtime.is_job_pending() {
            let ran = self.runtime.execute_pending_job();
            ran.map_err(|error| error.to_string())?;
            jobs += 1;
            if jobs > JOBS {
                return Err("a drawing that does not end".into());
            }
        }
        self.context.with(|of| {
            let found = |name: &str| -> Option<String> { of.globals().get(name).ok().flatten() };
            match (found("drawn"), found("refused")) {
                (Some(svg), _) => Ok(svg),
                (None, refused) => Err(refused.unwrap_or_else(|| "nothing was drawn".into())),
            }
        })
    }
}

fn eval(of: &Ctx<'_>, text: &str) -> Result<(), String> {
    let done = of.eval::<(), _>(text).catch(of);
    done.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_are_drawn_and_names_are_text() {
        let painter = Painter::new().unwrap();
        let spec = json!({
            "width": 200, "height": 100,
            "data": {"values": [{"a": "<script>x</script>", "b": 1.0}, {"a": "y", "b": 2.0}]},
            "mark": "bar", "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "quantitative"}},
        });
        let svg = painter.svg(&spec).unwrap();
        assert!(
            svg.starts_with("<svg") && svg.contains("mark-rect"),
            "{svg}"
        );
        assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script"));
        // The engine is as good as new afterwards, also after a refusal.
        assert!(
            painter.svg(&json!({"mark": "bar", "data": 1})).is_err() || painter.svg(&spec).is_ok()
        );
        assert_eq!(painter.svg(&spec).unwrap(), svg);
    }
}
