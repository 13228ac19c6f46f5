//! A signal, which ends the measuring and not the telling.

use std::pin::Pin;

use couplet_serve::Signals;

/// Whether somebody has had enough.
pub(super) struct Interrupt {
    waiting: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Interrupt {
    /// Waits for it from now on, whatever else is done.
    pub(super) async fn new() -> Self {
        let mut waiting: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async {
            match Signals::new() {
                Ok(mut signals) => {
                    signals.next().await;
                }
                Err(_) => std::future::pending().await,
            }
        });
        // The system is told when it is polled for the first time.
        let pressed = tokio::select! {
            biased;
            () = &mut waiting => true,
            () = std::future::ready(()) => false,
        };
        Self { waiting: (!pressed).then_some(waiting) }
    }

    /// Nobody is there to press anything.
    #[cfg(test)]
    pub(super) fn never() -> Self {
        Self { waiting: Some(Box::pin(std::future::pending())) }
    }

    /// Waits for it. Afterwards there is nothing to wait for.
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
