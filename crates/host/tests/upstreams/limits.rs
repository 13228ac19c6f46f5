//! Limits of calls: how many, how long, and what happens to those that are not answered.

use std::{sync::atomic::Ordering::SeqCst, time::Duration};

use couplet_core::ErrorKind;
use couplet_host::upstream::{Reason, State};
use tokio::time::{Instant, sleep};

use crate::kit::{ERAS, Fake, STATELESS, call, caller, is, options, text, until};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limits_fail_with_words() {
    for era in ERAS {
        let fake = Fake::new(era);
        let mut options = options();
        (options.calls, options.queue) = (2, 1);
        let upstream = fake.with(options);
        let client = caller(&upstream, era).await;
        let running: Vec<_> = (0..3).map(|_| tokio::spawn(client.call("wait", ()).into_future())).collect();
        until("all are there", || (upstream.status().running, upstream.status().queued) == (2, 1)).await;
        assert_eq!(
            call(&client, "echo").await,
            "`files` is busy: 2 calls are running and 1 call is waiting; retry later"
        );
        let refused = client.call("echo", ()).await.unwrap_err();
        let data = refused.rpc().unwrap().data.clone().unwrap();
        assert_eq!(data.get(), r#"{"reason":"busy","server":"files"}"#);
        sleep(secs(11)).await;
        fake.gate.add_permits(2);
        let mut texts = Vec::new();
        for call in running {
            texts.push(text(call.await.unwrap()));
        }
        texts.sort();
        assert_eq!(
            texts,
            [
                "`files` is busy: this call waited 10 seconds, and 2 calls are still running; retry later",
                "wait",
                "wait"
            ]
        );
        assert_eq!(fake.begun.load(SeqCst), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_times_out_and_progress_extends_it() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let client = caller(&upstream, era).await;
        let began = Instant::now();
        assert_eq!(
            call(&client, "never").await,
            "`files` did not answer in time, and the outcome of the call is unknown: `tools/call` was not answered within \
             60s after its last message and was cancelled"
        );
        assert!(began.elapsed() >= secs(60) && began.elapsed() < secs(61));
        let progress = client.call("progress", ()).on_progress(|_| {});
        assert_eq!(text(progress.await), "progress");
        assert!(began.elapsed() > secs(300));
        let status = upstream.status();
        assert_eq!((status.calls, status.failures, status.state), (2, 1, State::Ready));
    }
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_extend_a_call_for_ever() {
    let fake = Fake::new(STATELESS);
    let mut options = options();
    options.max_call_timeout = Some(secs(100));
    let upstream = fake.with(options);
    let client = caller(&upstream, STATELESS).await;
    let failed = text(client.call("progress", ()).on_progress(|_| {}).await);
    assert!(failed.contains("was not answered within 100s and was cancelled"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn repeated_timeouts_open_the_breaker_and_a_trial_closes_it() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let client = caller(&upstream, era).await;
        // Errors and failed tools are answers.
        for _ in 0..20 {
            assert_eq!(call(&client, "fail").await, "that is wrong");
            assert!(call(&client, "broken").await.contains("it does not work"));
        }
        assert_eq!(upstream.status().state, State::Ready);
        let stuck: Vec<_> = (0..5).map(|_| tokio::spawn(client.call("never", ()).into_future())).collect();
        for call in stuck {
            assert!(call.await.unwrap().is_err());
        }
        assert_eq!(upstream.status().state, State::Degraded);
        let begun = fake.begun.load(SeqCst);
        assert_eq!(call(&client, "echo").await, "`files` does not answer: its last 5 calls failed; retry in 5 seconds");
        assert_eq!(upstream.proxy().await.unwrap_err().reason(), Reason::Unresponsive);
        assert_eq!(fake.begun.load(SeqCst), begun, "nothing was sent");
        sleep(secs(5)).await;
        assert_eq!(call(&client, "echo").await, "echo");
        assert_eq!((upstream.status().state, fake.attempts.load(SeqCst)), (State::Ready, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_is_restarted() {
    let fake = Fake::new(STATELESS);
    let upstream = fake.with(options());
    let client = caller(&upstream, STATELESS).await;
    for _ in 0..5 {
        assert!(client.call("never", ()).await.is_err());
    }
    sleep(secs(5)).await;
    assert!(client.call("never", ()).await.is_err());
    is(&upstream, State::Backoff).await;
    assert_eq!(call(&client, "echo").await, "echo");
    assert_eq!((fake.attempts.load(SeqCst), upstream.status().restarts), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn latencies_are_measured() {
    let fake = Fake::new(STATELESS);
    let upstream = fake.with(options());
    let client = caller(&upstream, STATELESS).await;
    assert_eq!(upstream.status().latency, None);
    assert_eq!(text(client.call("progress", ()).on_progress(|_| {}).await), "progress");
    let latency = upstream.status().latency.unwrap();
    assert!(latency.p50 >= secs(300) && latency.p99 <= secs(380), "{latency:?}");
}

#[tokio::test(start_paused = true)]
async fn s23_a_server_that_is_lost_during_a_call_runs_it_once() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let client = caller(&upstream, era).await;
        let running = tokio::spawn(client.call("never", ()).into_future());
        until("it runs", || fake.begun.load(SeqCst) == 1).await;
        fake.cut();
        let error = running.await.unwrap().unwrap_err();
        let reported = error.rpc().unwrap();
        assert_eq!(
            reported.message,
            "`files` was lost during the call, whose outcome is unknown; it was not sent again: the connection was dropped"
        );
        assert_eq!(reported.data.clone().unwrap().get(), r#"{"outcome":"unknown","server":"files"}"#);
        assert_eq!(call(&client, "echo").await, "echo");
        assert_eq!(fake.begun.load(SeqCst), 2, "one call was lost, and one was answered");
    }
}

/// A server behind a transport without a connection, such as HTTP, is not seen to be lost: its calls fail.
#[tokio::test(start_paused = true)]
async fn failures_of_the_transport_open_the_breaker_and_lead_to_a_restart() {
    for kind in [ErrorKind::Transport, ErrorKind::Closed] {
        check_unreachable(kind).await;
    }
}

async fn check_unreachable(kind: ErrorKind) {
    let fake = Fake::new(STATELESS).unreachable(kind);
    let upstream = fake.with(options());
    let client = caller(&upstream, STATELESS).await;
    assert_eq!(call(&client, "echo").await, "echo");
    fake.reach(false);
    for _ in 0..5 {
        let error = call(&client, "echo").await;
        assert!(error.starts_with("`files` was lost during the call, whose outcome is unknown"), "{error}");
    }
    assert_eq!(upstream.proxy().await.unwrap_err().reason(), Reason::Unresponsive);
    assert_eq!(upstream.status().state, State::Degraded);
    sleep(secs(5)).await;
    let error = call(&client, "echo").await;
    assert!(error.contains("no route"), "{error}");
    // It is connected to again, which does not help, and again, which does.
    fake.refuse(true);
    is(&upstream, State::Backoff).await;
    until("it is tried again", || fake.attempts.load(SeqCst) == 2).await;
    fake.refuse(false);
    fake.reach(true);
    assert_eq!(call(&client, "echo").await, "echo");
    assert_eq!(upstream.status().state, State::Ready);
}
