//! A bounded queue between the driver and one reader: when nobody reads, the oldest entries are dropped.

use std::{
    collections::VecDeque,
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use crate::sync::lock;

#[derive(Debug)]
pub(crate) struct Feed<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    room: usize,
    waker: Option<Waker>,
    closed: bool,
}

impl<T> Feed<T> {
    pub(crate) fn new(room: usize) -> Self {
        Self(Mutex::new(State { items: VecDeque::new(), room, waker: None, closed: false }))
    }

    pub(crate) fn push(&self, item: T) {
        lock(&self.0).push(item);
    }

    /// Nothing more comes. What is there can still be read.
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

impl<T: PartialEq> Feed<T> {
    /// Adds an item unless an equal one still waits to be read.
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
        if self.items.len() >= self.room {
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
