//! Starts, restarts and stops.

use std::{sync::atomic::Ordering::SeqCst, time::Duration};

use couplet_core::{Change, Filter};
use couplet_host::{
    names::ServerId,
    upstream::{Reason, Start, StartLimit, State, Upstream},
};
use tokio::time::{Instant, sleep, timeout};

use crate::kit::{ERAS, Fake, STATELESS, call, caller, is, options, until};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn the_first_calls_start_it_once() {
    for era in ERAS {
        let fake = Fake::new(era).delay(secs(3));
        let upstream = fake.with(options());
        sleep(secs(3600)).await;
        assert_eq!((fake.attempts.load(SeqCst), upstream.status().state), (0, State::Configured));
        let client = caller(&upstream, era).await;
        let calls: Vec<_> = (0..20).map(|_| tokio::spawn(client.call("echo", ()).into_future())).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap().into_result().unwrap().text(), "echo");
        }
        assert_eq!((fake.attempts.load(SeqCst), fake.begun.load(SeqCst)), (1, 20));
        is(&upstream, State::Ready).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_eager_one_starts_by_itself_and_a_lazy_one_with_its_first_list() {
    let fake = Fake::new(STATELESS);
    let mut eager = options();
    eager.start = Start::Eager;
    let upstream = fake.with(eager);
    is(&upstream, State::Ready).await;
    let lazy = Fake::new(STATELESS);
    let upstream = lazy.with(options());
    assert_eq!(upstream.first_catalog(secs(1)).await.list(couplet_host::catalog::List::Tools).len(), 1);
    assert_eq!((fake.attempts.load(SeqCst), lazy.attempts.load(SeqCst)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn it_stops_when_it_is_idle_and_not_before() {
    for era in ERAS {
        let fake = Fake::new(era);
        let mut options = options();
        options.idle_stop = Some(secs(60));
        options.call_timeout = None;
        let upstream = fake.with(options);
        let client = caller(&upstream, era).await;
        let waiting = tokio::spawn(client.call("wait", ()).into_future());
        sleep(secs(600)).await;
        assert_eq!(fake.open.load(SeqCst), 1, "a call is running");
        let hold = upstream.hold();
        fake.gate.add_permits(1);
        waiting.await.unwrap().unwrap();
        sleep(secs(600)).await;
        assert_eq!(fake.open.load(SeqCst), 1, "it is held");
        drop(hold);
        sleep(secs(59)).await;
        assert_eq!(fake.open.load(SeqCst), 1, "it is not idle for long enough");
        sleep(secs(2)).await;
        assert_eq!((fake.open.load(SeqCst), upstream.status().state), (0, State::Configured));
        // The lists are still known, and listing does not start it.
        assert_eq!(upstream.first_catalog(secs(1)).await.list(couplet_host::catalog::List::Tools).len(), 1);
        assert_eq!(fake.attempts.load(SeqCst), 1);
        assert_eq!(call(&client, "echo").await, "echo");
        assert_eq!((fake.attempts.load(SeqCst), upstream.status().restarts), (2, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_restored_and_calls_wait_for_it() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let client = caller(&upstream, era).await;
        for restart in 1..=3 {
            assert_eq!(call(&client, "echo").await, "echo");
            fake.cut();
            is(&upstream, State::Backoff).await;
            assert_eq!(upstream.status().restarts, restart - 1);
            assert!(upstream.status().error.unwrap().contains("the cable was pulled"));
        }
        assert_eq!(call(&client, "echo").await, "echo");
        assert_eq!((fake.attempts.load(SeqCst), upstream.status().restarts), (4, 3));
    }
}

#[tokio::test(start_paused = true)]
async fn subscriptions_to_resources_survive_a_restart() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let subscription = upstream.hub().subscribe(Filter::new().resource("file:///a"));
        upstream.start();
        for _ in 0..2 {
            is(&upstream, State::Ready).await;
            until("it is subscribed to", || fake.hub().interest().uris.contains("file:///a")).await;
            fake.hub().send(Change::Updated("file:///a".into()));
            until("it arrives", || subscription.take() == Some(Change::Updated("file:///a".into()))).await;
            fake.cut();
            is(&upstream, State::Backoff).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_too_many_failures_only_a_call_tries_again() {
    let fake = Fake::new(STATELESS);
    fake.refuse(true);
    let upstream = fake.with(options());
    let client = caller(&upstream, STATELESS).await;
    upstream.start();
    is(&upstream, State::Stopped).await;
    assert_eq!(fake.attempts.load(SeqCst), 1 + options().restarts);
    let refused = upstream.proxy().await.unwrap_err();
    assert_eq!(refused.reason(), Reason::Stopped);
    assert!(refused.retry_after().unwrap() > secs(29) && refused.retry_after().unwrap() <= secs(30));
    assert_eq!(
        call(&client, "echo").await,
        "`files` is stopped, because it failed too often; a call in 30 seconds tries again: the cable is cut"
    );
    sleep(secs(3600)).await;
    assert_eq!(fake.attempts.load(SeqCst), 1 + options().restarts, "it does not try by itself");
    fake.refuse(false);
    assert_eq!(call(&client, "echo").await, "echo");
    assert_eq!(fake.attempts.load(SeqCst), 2 + options().restarts);
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_fails_costs_one_attempt() {
    let fake = Fake::new(STATELESS);
    fake.refuse(true);
    let mut options = options();
    options.restart_window = secs(1_000_000);
    let attempts = 1 + options.restarts;
    let upstream = fake.with(options);
    upstream.start();
    is(&upstream, State::Stopped).await;
    sleep(secs(30)).await;
    let calls = (0..10).map(|_| {
        tokio::spawn({
            let upstream = upstream.clone();
            async move { upstream.proxy().await.err().unwrap() }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().reason(), Reason::Stopped);
    }
    assert_eq!(fake.attempts.load(SeqCst), attempts + 1);
}

#[tokio::test(start_paused = true)]
async fn an_eager_one_recovers_by_itself_within_its_limit() {
    let fake = Fake::new(STATELESS);
    fake.refuse(true);
    let mut options = options();
    options.start = Start::Eager;
    let (most, window) = (options.restarts, options.restart_window);
    let upstream = fake.with(options);
    sleep(window - secs(1)).await;
    assert_eq!((fake.attempts.load(SeqCst), upstream.status().state), (1 + most, State::Stopped));
    fake.refuse(false);
    sleep(secs(60)).await;
    is(&upstream, State::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_long_run_makes_the_next_delay_short_again() {
    let fake = Fake::new(STATELESS);
    let mut options = options();
    options.restart_window = secs(1);
    let upstream = fake.with(options);
    upstream.start();
    for _ in 0..6 {
        is(&upstream, State::Ready).await;
        fake.cut();
        is(&upstream, State::Backoff).await;
    }
    assert!(upstream.status().retry_in.unwrap() > secs(2), "{:?}", upstream.status());
    is(&upstream, State::Ready).await;
    sleep(secs(31)).await;
    fake.cut();
    is(&upstream, State::Backoff).await;
    assert!(upstream.status().retry_in.unwrap() <= Duration::from_millis(250), "{:?}", upstream.status());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_at_its_start_is_reported_with_its_last_words() {
    let fake = Fake::new(STATELESS).delay(secs(1_000_000));
    let upstream = fake.upstream().stderr(|| "reading config\n\ncannot open \u{1b}[31mdb\n".to_owned()).build();
    let began = Instant::now();
    let client = caller(&upstream, STATELESS).await;
    let error = call(&client, "echo").await;
    assert_eq!(error, "`files` has been starting for 32 seconds; retry in a few seconds");
    assert!(began.elapsed() < secs(40));
    is(&upstream, State::Backoff).await;
    let status = upstream.status();
    assert_eq!(
        status.error.unwrap(),
        "it did not answer within 30 seconds after its start; its standard error ends with: reading config | cannot open \
         \\u{1b}[31mdb"
    );
}

#[tokio::test(start_paused = true)]
async fn four_start_at_the_same_time_and_those_that_hang_make_room() {
    let (limit, mut all) = (StartLimit::default(), Vec::new());
    let slow = Fake::new(STATELESS).delay(Duration::from_millis(500));
    let hanging = Fake::new(STATELESS).delay(secs(1_000_000));
    let mut eager = options();
    eager.start = Start::Eager;
    let start = |fake: &Fake| fake.upstream().options(eager.clone()).start_limit(&limit).build();
    let stuck: Vec<_> = (0..4).map(|_| start(&hanging)).collect();
    sleep(Duration::from_millis(1)).await;
    all.extend((0..12).map(|_| start(&slow)));
    // A second until there is room, then four at a time.
    sleep(Duration::from_millis(2600)).await;
    assert!(all.iter().all(|upstream| upstream.status().state == State::Ready));
    assert_eq!((slow.most_connecting.load(SeqCst), slow.attempts.load(SeqCst)), (4, 12));
    assert!(stuck.iter().all(|upstream| upstream.status().state == State::Starting));
}

#[tokio::test(start_paused = true)]
async fn it_is_stopped_and_quarantined_and_released() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let client = caller(&upstream, era).await;
        assert_eq!(call(&client, "echo").await, "echo");
        let waiting = tokio::spawn(client.call("wait", ()).into_future());
        until("it runs", || fake.begun.load(SeqCst) == 2).await;
        upstream.stop("maintenance");
        is(&upstream, State::Stopped).await;
        assert_eq!(call(&client, "echo").await, "`files` is stopped: maintenance");
        fake.gate.add_permits(1);
        assert_eq!(waiting.await.unwrap().unwrap().into_result().unwrap().text(), "wait");
        until("the last call closes the connection", || fake.open.load(SeqCst) == 0).await;
        upstream.release();
        is(&upstream, State::Configured).await;
        let waiting = tokio::spawn(client.call("never", ()).into_future());
        until("it runs", || fake.begun.load(SeqCst) == 3).await;
        upstream.quarantine("a tool has changed");
        let error = crate::kit::text(waiting.await.unwrap());
        assert!(error.starts_with("`files` was lost during the call, whose outcome is unknown"), "{error}");
        assert_eq!(call(&client, "echo").await, "`files` is quarantined: a tool has changed");
        until("it is cut off", || fake.open.load(SeqCst) == 0).await;
        sleep(secs(3600)).await;
        assert_eq!(upstream.status().state, State::Quarantined);
        upstream.start();
        assert_eq!(call(&client, "echo").await, "echo");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_end_at_the_old_server_when_it_is_restarted_or_dropped() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let client = caller(&upstream, era).await;
        let waiting = tokio::spawn(client.call("wait", ()).into_future());
        until("it runs", || fake.begun.load(SeqCst) == 1).await;
        upstream.restart();
        until("there are two", || fake.open.load(SeqCst) == 2).await;
        assert_eq!(call(&client, "echo").await, "echo");
        fake.gate.add_permits(1);
        assert_eq!(waiting.await.unwrap().unwrap().into_result().unwrap().text(), "wait");
        until("the old one is gone", || fake.open.load(SeqCst) == 1).await;
        let running = upstream.proxy().await.unwrap();
        client.close().await.unwrap();
        drop((upstream, client));
        sleep(secs(1)).await;
        assert_eq!(fake.open.load(SeqCst), 1, "a call needs it");
        drop(running);
        until("nothing is left", || fake.open.load(SeqCst) == 0).await;
    }
}

#[tokio::test(start_paused = true)]
async fn upstreams_do_not_wait_for_each_other() {
    let (good, hanging) = (Fake::new(STATELESS), Fake::new(STATELESS).delay(secs(1_000_000)));
    let limit = StartLimit::default();
    let stuck: Vec<_> = (0..8).map(|_| hanging.upstream().start_limit(&limit).build()).collect();
    let good = Upstream::builder(ServerId::parse("good").unwrap(), couplet_client::Client::new("host", "1"), good)
        .start_limit(&limit)
        .build();
    let began = Instant::now();
    let lists = stuck.iter().chain([&good]).map(|upstream| {
        let upstream = upstream.clone();
        tokio::spawn(async move { upstream.first_catalog(secs(1)).await.is_fetched() })
    });
    let mut fetched = Vec::new();
    for list in lists.collect::<Vec<_>>() {
        fetched.push(list.await.unwrap());
    }
    assert!(began.elapsed() <= Duration::from_millis(1200), "{:?}", began.elapsed());
    assert!(!fetched[0]);
    // It had to wait for its turn, but not for the others to end.
    assert!(timeout(secs(2), good.proxy()).await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_quarantined_from_the_beginning_is_not_started() {
    let fake = Fake::new(STATELESS);
    let mut eager = options();
    eager.start = Start::Eager;
    let upstream = fake.upstream().options(eager).quarantined("its command has changed").build();
    sleep(secs(3600)).await;
    assert_eq!((fake.attempts.load(SeqCst), upstream.status().state), (0, State::Quarantined));
    assert_eq!(upstream.proxy().await.unwrap_err().to_string(), "`files` is quarantined: its command has changed");
    upstream.release();
    is(&upstream, State::Ready).await;
    // Starting what runs changes nothing.
    upstream.start();
    sleep(secs(1)).await;
    assert_eq!(fake.attempts.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_starts_what_failed_too_often_and_was_never_listed() {
    let fake = Fake::new(STATELESS);
    fake.refuse(true);
    let upstream = fake.with(options());
    upstream.start();
    is(&upstream, State::Stopped).await;
    fake.refuse(false);
    assert!(!upstream.first_catalog(secs(1)).await.is_fetched(), "it failed a moment ago");
    sleep(secs(30)).await;
    assert!(upstream.first_catalog(secs(1)).await.is_fetched());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_calls_and_then_for_the_server() {
    for era in ERAS {
        let fake = Fake::new(era);
        let upstream = fake.with(options());
        let client = caller(&upstream, era).await;
        let waiting = tokio::spawn(client.call("wait", ()).into_future());
        let stuck = tokio::spawn(client.call("never", ()).into_future());
        until("both run", || fake.begun.load(SeqCst) == 2).await;
        let shutdown = tokio::spawn(async move { upstream.shutdown("the host is closed", secs(5)).await });
        sleep(secs(1)).await;
        assert_eq!(call(&client, "echo").await, "`files` is stopped: the host is closed");
        fake.gate.add_permits(1);
        assert_eq!(crate::kit::text(waiting.await.unwrap()), "wait");
        shutdown.await.unwrap();
        assert!(crate::kit::text(stuck.await.unwrap()).contains("outcome is unknown"));
        assert_eq!(fake.open.load(SeqCst), 0);
    }
}
