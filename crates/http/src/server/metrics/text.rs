//! The text format of Prometheus, version 0.0.4.
//!
//! Labels have values of fixed sets only: no string of a client becomes one.

use std::{
    fmt::{Display, Write},
    sync::atomic::{AtomicU64, Ordering},
};

use couplet_core::{Metric, MetricKind};
use couplet_types::RequestMethod;

use crate::server::{
    endpoint::Endpoint,
    metrics::{
        Metrics, Store,
        on::{OTHER, Outcome, STATUSES, message_labels},
    },
};

/// The media type of the text.
#[cfg(feature = "listen")]
pub(crate) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Endpoint {
    /// Returns the metrics in the text format of Prometheus (`text/plain; version=0.0.4`).
    ///
    /// | name | labels | meaning |
    /// |---|---|---|
    /// | `couplet_messages_total` | `method` | received messages: requests and notifications by method, `response` |
    /// | `couplet_requests_total` | `method`, `outcome` | MCP requests that the service handled; outcomes are `ok`, `input_required`, `tool_error`, `error`, `timeout` and `cancelled` |
    /// | `couplet_request_duration_seconds` | `method` | a histogram of their durations |
    /// | `couplet_http_responses_total` | `status` | HTTP responses; 429 and 503 are refusals |
    /// | `couplet_requests_in_progress` | | HTTP requests in progress |
    /// | `couplet_sessions`, `couplet_streams` | | open sessions and streams of this process |
    /// | `couplet_unsent_bytes` | | bytes of responses that clients have not read yet |
    /// | `couplet_connections`, `couplet_connections_total` | | open and accepted connections of the built-in listener |
    /// | `couplet_accept_errors_total` | | connections that could not be accepted |
    /// | `couplet_store_duration_seconds` | `store` | calls of the stores: `sessions` and `events` |
    /// | `couplet_store_errors_total` | `store` | calls of stores that failed or took too long: `sessions` and `events`, and of the service `outcomes` (of calls with an idempotency key), `changes` (the change bus), `tasks` and `limits`, for those that it has |
    /// | `couplet_draining` | | 1 after the beginning of a shutdown |
    /// | `couplet_tasks` | `status` | with the tasks extension: tasks that run in this process, `working` or `input_required` |
    /// | `couplet_tasks_finished_total` | `status` | tasks that this process has ended: `completed`, `failed` or `cancelled` |
    /// | `couplet_tasks_taken_over_total` | | tasks of lost or stopped replicas that this process has taken over |
    /// | `couplet_queued_calls` | | with `ConcurrencyLimit`: calls that wait for others to end |
    /// | `couplet_keyed_calls` | | with an outcome store: calls with an idempotency key in progress |
    /// | `couplet_unstored_outcomes` | | outcomes of such calls that wait for the store |
    /// | `couplet_unpublished_changes` | | with a change bus: changes that other replicas do not know yet |
    /// | `couplet_unstored_task_results` | | with the tasks extension: results that wait for the store |
    ///
    /// The buckets of the histograms end at 1, 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5, 10, 60 and 300 s. Samples
    /// by method, outcome or status appear once something was counted. Counts begin with the endpoint, and clones share
    /// them.
    ///
    /// A method that the protocol does not have is `other`. Requests that need no service, such as `ping` and
    /// `initialize`, count as messages and HTTP responses only. Extensions of the service may add
    /// [others](couplet_core::Service::metrics).
    ///
    /// ```
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build());
    /// assert!(endpoint.metrics().contains("\ncouplet_sessions 0\n"));
    /// ```
    pub fn metrics(&self) -> String {
        let mut page = Page(String::with_capacity(4096));
        let (state, config) = (&self.state, &self.config);
        page.counts(&config.metrics);
        let requests = state.requests.load(Ordering::Relaxed);
        page.gauge("couplet_requests_in_progress", "HTTP requests in progress", requests);
        page.gauge("couplet_sessions", "open sessions", self.session_count());
        page.gauge("couplet_streams", "open event streams", self.stream_count());
        page.gauge("couplet_unsent_bytes", "bytes of responses that are not sent yet", config.in_flight.bytes());
        let draining = usize::from(state.draining.load(Ordering::Relaxed));
        page.gauge("couplet_draining", "1 after the beginning of a shutdown", draining);
        let mut shared = config.metrics.store_errors();
        shared.extend(config.service.metrics());
        page.service(&shared);
        page.0
    }
}

impl Metrics {
    /// The failures of stores. A service has others, under the same name.
    fn store_errors(&self) -> Vec<Metric> {
        let help = "store calls that failed or took too long";
        let errors = |store: Store| self.0.stores[store as usize].errors.load(Ordering::Relaxed);
        let metric =
            |(store, label)| Metric::counter("couplet_store_errors_total", help, errors(store)).label("store", label);
        Store::ALL.into_iter().map(metric).collect()
    }
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: usize) {
        self.head(name, "gauge", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: &AtomicU64) {
        self.head(name, "counter", help);
        let _ = writeln!(self.0, "{name} {}", value.load(Ordering::Relaxed));
    }

    /// Writes the metrics of the service. Those of one name stand together, those with the same label are one.
    fn service(&mut self, metrics: &[Metric]) {
        for (at, first) in metrics.iter().enumerate() {
            let is_new = |earlier: &Metric| earlier.name != first.name;
            if !metrics[..at].iter().all(is_new) {
                continue;
            }
            let kind = if first.kind == MetricKind::Counter { "counter" } else { "gauge" };
            self.head(first.name, kind, first.help);
            let mut sums: Vec<(Option<(&str, &str)>, u64)> = Vec::new();
            for metric in metrics[at..].iter().filter(|metric| metric.name == first.name) {
                match sums.iter_mut().find(|(label, _)| *label == metric.label) {
                    Some((_, sum)) => *sum = sum.saturating_add(metric.value),
                    None => sums.push((metric.label, metric.value)),
                }
            }
            for (label, value) in sums {
                let _ = match label {
                    Some((label, of)) => writeln!(self.0, "{}{{{label}=\"{of}\"}} {value}", first.name),
                    None => writeln!(self.0, "{} {value}", first.name),
                };
            }
        }
    }

    /// Writes a sample, unless nothing was counted.
    fn sample(&mut self, name: &str, labels: impl Display, value: &AtomicU64) {
        let value = value.load(Ordering::Relaxed);
        if value > 0 {
            let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
        }
    }

    fn counts(&mut self, Metrics(counts): &Metrics) {
        let names = || RequestMethod::ALL.iter().map(|method| method.as_str()).chain([OTHER]);
        let name = "couplet_messages_total";
        self.head(name, "counter", "received messages by method");
        for (method, count) in message_labels().zip(&counts.messages) {
            self.sample(name, format_args!("method=\"{method}\""), count);
        }
        let name = "couplet_requests_total";
        self.head(name, "counter", "MCP requests by method and outcome");
        for (method, count) in names().zip(&counts.methods) {
            for (outcome, label) in Outcome::ALL {
                let count = &count.outcomes[outcome as usize];
                self.sample(name, format_args!("method=\"{method}\",outcome=\"{label}\""), count);
            }
        }
        let name = "couplet_request_duration_seconds";
        self.head(name, "histogram", "durations of MCP requests by method");
        for (method, count) in names().zip(&counts.methods).filter(|(_, count)| !count.durations.is_empty()) {
            count.durations.write(&mut self.0, name, "method", method);
        }
        let name = "couplet_http_responses_total";
        self.head(name, "counter", "HTTP responses by status; 429 and 503 are refusals");
        for (status, count) in
            STATUSES.map(|status| status.to_string()).chain([OTHER.to_owned()]).zip(&counts.responses)
        {
            self.sample(name, format_args!("status=\"{status}\""), count);
        }
        let name = "couplet_store_duration_seconds";
        self.head(name, "histogram", "durations of store calls");
        for (store, label) in Store::ALL {
            counts.stores[store as usize].durations.write(&mut self.0, name, "store", label);
        }
        let (opened, closed) = (counts.opened.load(Ordering::Relaxed), counts.closed.load(Ordering::Relaxed));
        let open = usize::try_from(opened.saturating_sub(closed)).unwrap_or(usize::MAX);
        self.gauge("couplet_connections", "open connections", open);
        self.counter("couplet_connections_total", "accepted connections", &counts.opened);
        let help = "connections that could not be accepted";
        self.counter("couplet_accept_errors_total", help, &counts.accept_errors);
    }
}
