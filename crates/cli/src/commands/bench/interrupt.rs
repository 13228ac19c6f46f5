//! A signal, which stops the measurement but not the report.

use std::pin::Pin;

use couplet_serve::Signals;

/// Whether a signal was received.
pub(super) struct Interrupt {
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Interrupt {
    /// Starts listening for signals.
    pub(super) async fn new() -> Self {
        let mut waiting: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async {
            match Signals::new() {
                Ok(mut signals) => {
                    signals.next().await;
                }
                Err(_) => std::future::pending().await,
            }
        });
        // The first poll registers the handlers.
        let pressed = tokio::select! {
            biased;
            () = &mut waiting => true,
            () = std::future::ready(()) => false,
        };
        Self { waiting: (!pressed).then_some(waiting) }
    }

    /// An interrupt that never comes.
    pub(super) fn never() -> Self {
        Self { waiting: Some(Box::pin(std::future::pending())) }
    }

    /// Waits for a signal. Returns at once if one was received before.
    pub(super) async fn pressed(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.await;
            self.waiting = None;
        }
    }

    pub(super) fn is_pressed(&self) -> bool {
        self.waiting.is_none()
    }
}
