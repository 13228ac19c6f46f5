//! One history: a client, a server, a pipe each way, and dice.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_client::{Client, Driver};
use couplet_core::{
    BoxFuture, ClientConnection, Connect, Connected, Error, Inbound, Limits, ServerConnection, Service,
    message::line::{Line, Lines},
};
use couplet_testing::types::ProtocolVersion;
use serde_json::json;

use crate::{
    exec::{Flag, Task, pauses},
    judge::{History, Judge},
    operation::{self, Cut},
    random::Random,
    server::{self, Alive},
};

/// Runs one history and judges it.
pub(crate) fn history(version: ProtocolVersion, seed: u64) -> History {
    let mut random = Random::new(seed);
    let alive = Alive::default();
    let handle = server::server(&alive);
    let holders = Arc::strong_count(&alive.0);
    let mut world = World::new(version, &mut random, Arc::new(handle.clone()));
    world.live(&mut random);
    let history = world.end(&mut random);
    assert_eq!(alive.count(), 0, "handlers are left");
    assert!(handle.hub().is_empty(), "subscriptions are left");
    assert_eq!(Arc::strong_count(&alive.0), holders, "something holds on to the server's state");
    history
}

struct World {
    client: Rc<RefCell<Option<(Client, Driver)>>>,
    cut: Cut,
    tasks: Vec<Task>,
    link: Arc<Mutex<Option<ClientConnection>>>,
    link_flag: Arc<Flag>,
    link_lines: Lines,
    link_done: bool,
    server: Option<ServerConnection>,
    server_flag: Arc<Flag>,
    server_lines: Lines,
    to_server: VecDeque<u8>,
    to_client: VecDeque<u8>,
    /// Messages that have arrived as a whole, and that nobody took yet.
    server_inbox: VecDeque<Bytes>,
    client_inbox: VecDeque<Bytes>,
    judge: Judge,
}

/// Connects the client to the world.
struct Plug(Arc<Mutex<Option<ClientConnection>>>, Limits);

impl Connect for Plug {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, _: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let (link, handle) = ClientConnection::new(inbound, self.1.clone());
        *self.0.lock().unwrap() = Some(link);
        // The world moves the messages; this future has nothing to do.
        let driver = Box::pin(std::future::pending());
        Box::pin(async move { Ok(Connected { channel: Arc::new(handle), driver }) })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("COUPLET_SIM_SEED").is_some() {
            for line in &self.judge.history.log {
                eprintln!("{line}");
            }
        }
    }
}

impl World {
    fn new(version: ProtocolVersion, random: &mut Random, service: Arc<dyn Service>) -> Self {
        let mut limits = Limits::default();
        // Small limits are reached, and must not stop anything.
        limits.queue = 1 + random.below(8);
        limits.running = 2 + random.below(8);
        limits.waiting = 1 + random.below(8);
        let link = Arc::new(Mutex::new(None));
        let client = Rc::new(RefCell::new(None));
        let patience = random.below(4) as u64;
        let builder = Client::new("sim", "1.0.0")
            .versions([version])
            .timeout(None)
            .max_timeout(None)
            .probe_timeout(None)
            .on_elicit(move |ask| async move {
                pauses(patience).await;
                ask.accept(json!({ "yes": true }))
            });
        let plug = Plug(link.clone(), limits.clone());
        let slot = client.clone();
        let cut = Cut::new(Cell::new(false));
        let was_cut = cut.clone();
        let connecting = async move {
            match builder.connect_with_driver(plug).await {
                Ok((client, driver)) => {
                    *slot.borrow_mut() = Some((client, driver));
                }
                Err(error) => assert!(was_cut.get(), "{error:?}"),
            }
        };
        Self {
            client,
            cut,
            tasks: vec![Task::new(connecting, false)],
            link,
            link_flag: Flag::raised(),
            link_lines: Lines::new(limits.message),
            link_done: false,
            server: Some(ServerConnection::new(service, limits)),
            server_flag: Flag::raised(),
            server_lines: Lines::new(1 << 20),
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            server_inbox: VecDeque::new(),
            client_inbox: VecDeque::new(),
            judge: Judge::default(),
        }
    }

    /// Starts, cancels and cuts things while everything moves in any order.
    fn live(&mut self, random: &mut Random) {
        let mut to_start = 3 + random.below(12);
        let cut_after = random.once_in(3).then(|| random.below(400));
        let mut step = 0;
        loop {
            step += 1;
            // There must be something to cut.
            let connected = self.link.lock().unwrap().is_some();
            if connected && cut_after.is_some_and(|after| step >= after) {
                self.cut(random);
                break;
            }
            let started = self.client.borrow().as_ref().map(|(client, _)| client.clone());
            if let Some(client) = started.filter(|_| to_start > 0 && random.once_in(6)) {
                let (name, task) = operation::start(random, &client, &self.cut);
                self.judge.history.log.push(format!("start {name}"));
                self.tasks.push(task);
                to_start -= 1;
            } else if self.tasks.len() > 1 && random.once_in(40) {
                // The first task is the one that connects.
                let at = 1 + random.below(self.tasks.len() - 1);
                self.judge.history.log.push(format!("cancel {at}"));
                self.tasks[at].cancel();
            } else if !self.step(random) && to_start == 0 {
                break;
            }
        }
    }

    /// Lets everything come to its end and looks at what is left.
    fn end(mut self, random: &mut Random) -> History {
        self.settle(random);
        for task in self.tasks.iter_mut().filter(|t| t.endless) {
            task.cancel();
        }
        self.settle(random);
        for (at, task) in self.tasks.iter().enumerate() {
            assert!(task.is_over(), "task {at} is still waiting, and nothing moves any more");
        }
        self.tasks.clear();
        if !self.cut.get() {
            let left = self.server.as_ref().map_or(0, ServerConnection::unanswered);
            assert_eq!(left, 0, "the server has not answered everything");
            let link = self.link.lock().unwrap();
            assert_eq!(link.as_ref().map_or(0, ClientConnection::unanswered), 0, "the client still waits for answers");
        }
        // The client is done: the pipe to the server ends, and the server ends too.
        self.client.borrow_mut().take();
        self.link_flag.raise();
        self.settle(random);
        if !self.cut.get() {
            assert!(self.link_done, "the client's side ends when the client is gone");
            if let Some(server) = &mut self.server {
                server.end_input();
                self.server_flag.raise();
            }
            self.settle(random);
            assert!(self.server.is_none(), "the server's side ends when no more can come");
            self.judge.conclude();
        }
        self.link.lock().unwrap().take();
        self.server = None;
        std::mem::take(&mut self.judge.history)
    }

    fn settle(&mut self, random: &mut Random) {
        let mut steps = 0;
        while self.step(random) {
            steps += 1;
            assert!(steps < 100_000, "it never comes to rest");
        }
    }

    /// Does one of the things that can be done, any of them; false if there is none.
    fn step(&mut self, random: &mut Random) -> bool {
        let ready: Vec<usize> = (0..self.tasks.len()).filter(|t| self.tasks[*t].is_ready()).collect();
        let mut choices: Vec<u8> = Vec::new();
        if !ready.is_empty() {
            choices.extend([0, 0]);
        }
        if self.link_flag.is_up() && !self.link_done && self.link.lock().unwrap().is_some() {
            choices.push(1);
        }
        if self.server_flag.is_up() && self.server.is_some() {
            choices.push(2);
        }
        if !self.to_server.is_empty() {
            choices.push(3);
        }
        if !self.to_client.is_empty() {
            choices.push(4);
        }
        if !self.server_inbox.is_empty() && self.server.as_ref().is_some_and(ServerConnection::wants_input) {
            choices.push(5);
        }
        let wanted = self.link.lock().unwrap().as_ref().is_some_and(ClientConnection::wants_input);
        if !self.client_inbox.is_empty() && wanted {
            choices.push(6);
        }
        if choices.is_empty() {
            return false;
        }
        match choices[random.below(choices.len())] {
            0 => self.tasks[ready[random.below(ready.len())]].poll(),
            1 => self.client_sends(),
            2 => self.server_sends(),
            3 => arrive(random, &mut self.to_server, &mut self.server_lines, &mut self.server_inbox),
            4 => arrive(random, &mut self.to_client, &mut self.link_lines, &mut self.client_inbox),
            5 => self.server_receives(),
            _ => self.client_receives(),
        }
        true
    }

    fn client_sends(&mut self) {
        let waker = Waker::from(self.link_flag.clone());
        self.link_flag.lower();
        let mut link = self.link.lock().unwrap();
        let Some(link) = link.as_mut() else { return };
        match link.poll_send(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(text)) => {
                let text = text.into_bytes();
                self.judge.client_says(std::str::from_utf8(&text).unwrap());
                self.to_server.extend(text);
                self.to_server.push_back(b'\n');
                self.link_flag.raise();
            }
            Poll::Ready(None) => self.link_done = true,
            Poll::Pending => {}
        }
    }

    fn server_sends(&mut self) {
        let waker = Waker::from(self.server_flag.clone());
        self.server_flag.lower();
        let Some(server) = self.server.as_mut() else { return };
        match server.poll_send(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(text)) => {
                let text = text.into_bytes();
                self.judge.server_says(std::str::from_utf8(&text).unwrap());
                self.to_client.extend(text);
                self.to_client.push_back(b'\n');
                self.server_flag.raise();
            }
            Poll::Ready(None) => self.server = None,
            Poll::Pending => {}
        }
    }

    fn server_receives(&mut self) {
        let (Some(text), Some(server)) = (self.server_inbox.pop_front(), self.server.as_mut()) else { return };
        self.judge.server_hears(std::str::from_utf8(&text).unwrap());
        server.receive(text);
        self.server_flag.raise();
    }

    fn client_receives(&mut self) {
        let mut link = self.link.lock().unwrap();
        let (Some(text), Some(link)) = (self.client_inbox.pop_front(), link.as_mut()) else { return };
        link.receive(text);
        self.link_flag.raise();
    }

    /// The pipe breaks, somewhere in the middle.
    fn cut(&mut self, random: &mut Random) {
        self.judge.history.cuts += 1;
        self.judge.history.log.push("cut".to_owned());
        self.cut.set(true);
        for _ in 0..random.below(4) {
            self.step(random);
        }
        self.to_server.clear();
        self.to_client.clear();
        self.server_inbox.clear();
        self.client_inbox.clear();
        if let Some(link) = self.link.lock().unwrap().as_mut() {
            link.end_input("the pipe was cut");
        }
        self.server = None;
        self.link_flag.raise();
    }
}

/// Some bytes arrive: a part of a message, or several.
fn arrive(random: &mut Random, pipe: &mut VecDeque<u8>, lines: &mut Lines, inbox: &mut VecDeque<Bytes>) {
    let wanted = if random.once_in(3) { pipe.len() } else { 1 + random.below(200) };
    let bytes: Vec<u8> = pipe.drain(..wanted.min(pipe.len())).collect();
    lines.buffer().extend_from_slice(&bytes);
    while let Some(Line::Message(text)) = lines.next() {
        inbox.push_back(text);
    }
}
