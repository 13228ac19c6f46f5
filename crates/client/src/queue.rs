//! A bounded queue from the driver to one reader. When it is full, the oldest entries are dropped.

use std::{
    collections::VecDeque,
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use crate::sync::lock;

#[derive(Debug)]
pub(crate) struct Queue<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    capacity: usize,
    waker: Option<Waker>,
    closed: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(Mutex::new(State { items: VecDeque::new(), capacity, waker: None, closed: false }))
    }

    pub(crate) fn push(&self, item: T) {
        lock(&self.0).push(item);
    }

    /// Closes the queue. The remaining items can still be read.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.0);
        state.closed = true;
        state.wake();
    }

    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = lock(&self.0);
        match state.items.pop_front() {
            Some(item) => Poll::Ready(Some(item)),
            None if state.closed => Poll::Ready(None),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T: PartialEq> Queue<T> {
    /// Adds an item unless an equal one is in the queue.
    pub(crate) fn push_once(&self, item: T) {
        let mut state = lock(&self.0);
        if !state.items.contains(&item) {
            state.push(item);
        }
    }
}

impl<T> State<T> {
    fn push(&mut self, item: T) {
        if self.closed {
            return;
        }
        if self.items.len() >= self.capacity {
            self.items.pop_front();
        }
        self.items.push_back(item);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
