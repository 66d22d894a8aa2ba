//! How Ctrl-C, SIGTERM and SIGHUP are heard. Where the system offers no signals, or no thread for them, they end the
//! program as they always do.

/// Answers each signal that asks to stop.
#[cfg(unix)]
pub(crate) fn hear(mut answer: impl FnMut() + Send + 'static) {
    use std::sync::mpsc::channel;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut heard = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        heard.push(SIGHUP);
    }
    let (begun, begins) = channel();
    // The thread comes first: signals that nobody answers would be lost.
    let listening = thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let signals = Signals::new(heard);
            // Whoever waits is there until it has this.
            let _ = begun.send(());
            let Ok(mut signals) = signals else { return };
            for _ in &mut signals {
                answer();
            }
        });
    if listening.is_ok() {
        // From here on a signal is heard.
        let _ = begins.recv();
    }
}

/// Answers Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn hear(answer: impl FnMut() + Send + 'static) {
    // Without it Ctrl-C ends the program.
    let _ = ctrlc::set_handler(answer);
}

/// Whether whoever started the program has asked for a signal to be ignored, as nohup does with SIGHUP: a run that is
/// to outlive its terminal does. Told by Linux alone.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
