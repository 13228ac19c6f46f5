//! The progress of a call, as a bar on standard error.

use std::sync::{Arc, OnceLock};

use couplet::types::ProgressParams;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{Output, text};

/// A progress bar that appears with the first notification on a terminal. Elsewhere, lines with `--verbose`.
pub(crate) struct Bar {
    output: Arc<Output>,
    name: String,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    /// The resolution of the bar.
    const STEPS: f64 = 1000.0;

    pub(crate) fn new(output: &Arc<Output>, name: &str) -> Self {
        Self { output: output.clone(), name: text::line(name), bar: OnceLock::new() }
    }

    pub(crate) fn show(&self, progress: &ProgressParams) {
        if !self.output.err.terminal || self.output.json {
            if self.output.verbose {
                let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
                let message = progress.message.as_deref().map(|m| format!(" {}", text::line(m))).unwrap_or_default();
                self.output.note(&format!("progress {}{total}{message}", progress.progress));
            }
            return;
        }
        // Drawn once its style is set.
        let bar = self.bar.get_or_init(|| ProgressBar::hidden().with_prefix(self.name.clone()));
        let message = progress.message.as_deref().map(text::line).unwrap_or_default();
        match progress.total.filter(|total| *total > 0.0) {
            Some(total) => {
                bar.set_style(style("{prefix} {bar:24} {percent:>3}% {msg}"));
                bar.set_length(Self::STEPS as u64);
                // The conversion saturates, since a server may send any numbers.
                bar.set_position((progress.progress / total * Self::STEPS) as u64);
                bar.set_message(message);
            }
            None => {
                bar.set_style(style("{prefix} {spinner} {msg}"));
                bar.set_message(format!("{} {message}", progress.progress));
                bar.tick();
            }
        }
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            self.output.show_bar(bar);
            bar.tick();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━━─")
}
