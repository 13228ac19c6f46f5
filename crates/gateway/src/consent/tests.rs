//! The queue: bounds, timeouts, cancellation, answers. Time is tokio's, and paused.

use std::pin::Pin;

use couplet_host::{
    names::{Kind, ServerId},
    policy::{Door, Effects, Flow, Trust},
};
use tokio::time::{advance, timeout};

use super::*;

const WAIT: Duration = Duration::from_secs(300);

fn question(principal: &str) -> Question {
    Question {
        principal: Some(principal.into()),
        session: Some("s1".into()),
        profile: "default".into(),
        server: ServerId::from_key("files"),
        kind: Kind::Tool,
        raw: "write".into(),
        door: Door::Call,
        effects: Effects::STRICTEST,
        trust: Trust::Known,
        flow: Flow::Clear,
        arguments: None,
        rule: None,
        definition: None,
    }
}

type Asking<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// Asks, and returns the call, which waits, and the id of its question.
async fn ask<'a>(queue: &'a Queue, question: &'a Question) -> (Asking<'a>, u64) {
    let mut asking: Asking<'a> = Box::pin(queue.ask(question, WAIT));
    assert!(timeout(Duration::ZERO, &mut asking).await.is_err(), "it waits");
    let id = queue.waiting().last().expect("it is in the queue").id;
    (asking, id)
}

#[tokio::test(start_paused = true)]
async fn an_answer_reaches_its_call_and_the_first_one_counts() {
    let (queue, ann, bob) = (Queue::default(), question("ann"), question("bob"));
    let (first, one) = ask(&queue, &ann).await;
    let (second, two) = ask(&queue, &bob).await;
    advance(Duration::from_secs(20)).await;
    let waiting = queue.waiting();
    assert_eq!(waiting.iter().map(|one| one.id).collect::<Vec<_>>(), [one, two]);
    assert_eq!((waiting[0].age.as_secs(), waiting[0].left.as_secs()), (20, 280));
    assert_eq!(queue.answer(two, Answer::Session), Ok(()));
    let late = queue.answer(two, Answer::Deny).expect_err("it is answered");
    let says = format!("no question `{two}` waits: it was answered, its call was cancelled, or its time is over");
    assert_eq!((late.kind(), late.to_string()), (crate::ErrorKind::Unknown, says));
    assert_eq!(second.await, Answer::Session);
    assert_eq!(queue.len(), 1, "the other one waits");
    assert_eq!(queue.answer(one, Answer::Deny), Ok(()));
    assert_eq!((first.await, queue.len()), (Answer::Deny, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_possible_is_refused_and_the_question_waits() {
    let (queue, flow) = (Queue::default(), Question { flow: Flow::Trifecta, session: None, ..question("ann") });
    let (asking, id) = ask(&queue, &flow).await;
    for answer in [Answer::Session, Answer::Always] {
        let error = queue.answer(id, answer).expect_err("it could not take effect").to_string();
        let says = format!("is not an answer to the question `{id}`: expected one of `once`, `deny`");
        assert_eq!(error, format!("`{}` {says}", answer.as_str()));
    }
    assert_eq!(queue.answer(id, Answer::Once), Ok(()));
    assert_eq!(asking.await, Answer::Once);
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_call_is_denied() {
    let (queue, ann) = (Queue::default(), question("ann"));
    let (mut asking, id) = ask(&queue, &ann).await;
    advance(WAIT - Duration::from_secs(1)).await;
    assert!(timeout(Duration::ZERO, &mut asking).await.is_err(), "it still waits");
    advance(Duration::from_secs(1)).await;
    assert_eq!(asking.await, Answer::Deny);
    assert_eq!(queue.len(), 0);
    assert!(queue.answer(id, Answer::Once).is_err());
}

/// A call that is cancelled is dropped.
#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_call() {
    let (queue, ann) = (Queue::default(), question("ann"));
    let (asking, id) = ask(&queue, &ann).await;
    drop(asking);
    assert_eq!(queue.len(), 0);
    assert!(queue.answer(id, Answer::Once).is_err());
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded_in_all_and_for_each_principal() {
    let queue = Queue::default();
    let callers: Vec<_> = (0..=Queue::MOST / Queue::MOST_OF_PRINCIPAL).map(|at| question(&format!("p{at}"))).collect();
    let mut calls = Vec::new();
    for caller in &callers[..callers.len() - 1] {
        for _ in 0..Queue::MOST_OF_PRINCIPAL {
            calls.push(ask(&queue, caller).await);
        }
        assert_eq!(queue.ask(caller, WAIT).await, Answer::Deny, "a principal cannot use all places");
    }
    assert_eq!(queue.len(), Queue::MOST);
    let other = &callers[callers.len() - 1];
    assert_eq!(queue.ask(other, WAIT).await, Answer::Deny, "all places are taken");
    // A call that ends frees its place, for its principal and in all.
    let (_, freed) = calls.pop().expect("calls wait");
    let (_call, id) = ask(&queue, other).await;
    assert!(id > freed, "ids are not used twice");
    assert_eq!(queue.len(), Queue::MOST);
}
