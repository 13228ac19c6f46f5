//! The processes of a cluster: Redis, the replicas, and the load balancer in front of them.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{Failure, debian, group::Group, workspace::command};

/// How long a process may take to listen.
const START: Duration = Duration::from_secs(30);

/// A process that listens on a port of its own and can be stopped and started again.
pub(super) struct Process {
    name: String,
    pub(super) port: u16,
    log: PathBuf,
    start: Box<dyn Fn() -> Command + Send>,
    group: Option<Group>,
}

impl Process {
    /// Starts a process and waits until it listens.
    fn new(name: &str, port: u16, logs: &Path, start: impl Fn() -> Command + Send + 'static) -> Result<Self, Failure> {
        let log = logs.join(format!("{name}.log"));
        let mut process = Self { name: name.to_owned(), port, log, start: Box::new(start), group: None };
        process.start()?;
        Ok(process)
    }

    /// Starts the process again, on the same port.
    pub(super) fn start(&mut self) -> Result<(), Failure> {
        let mut group = Group::start(&mut (self.start)(), &self.log)?;
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if let Some(status) = group.ended() {
                return Err(format!("{} ended at once: {status}; see {}", self.name, self.log.display()));
            }
            if started.elapsed() > START {
                return Err(format!("{} does not listen; see {}", self.name, self.log.display()));
            }
            sleep(Duration::from_millis(20));
        }
        self.group = Some(group);
        Ok(())
    }

    /// Kills the process, which gets no chance to say anything.
    pub(super) fn kill(&mut self) {
        self.group = None;
    }

    fn has_ended(&mut self) -> bool {
        self.group.as_mut().is_none_or(|group| group.ended().is_some())
    }

    /// Sends a signal, like `STOP`.
    pub(super) fn signal(&self, name: &str) -> Result<(), Failure> {
        self.group.as_ref().map_or(Ok(()), |group| group.signal(name))
    }

    /// Asks the process to end, waits until it has, and starts it again.
    pub(super) fn roll(&mut self) -> Result<(), Failure> {
        self.signal("TERM")?;
        if let Some(group) = self.group.take() {
            let status = group.wait(Duration::from_secs(60))?;
            if !status.success() {
                return Err(format!("{} ended with {status} on SIGTERM", self.name));
            }
        }
        self.start()
    }

    /// The id of the process, while it runs.
    pub(super) fn id(&self) -> Option<u32> {
        self.group.as_ref().map(Group::id)
    }

    /// What the process has said so far.
    pub(super) fn log(&self) -> Result<String, Failure> {
        fs::read_to_string(&self.log).map_err(|e| format!("{}: {e}", self.log.display()))
    }

    pub(super) fn url(&self) -> String {
        url(self.port)
    }
}

pub(super) fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/mcp")
}

/// All processes of a cluster.
pub(super) struct Rig {
    pub(super) redis: Process,
    /// Where Redis writes its data when it is told to, and from where it loads them when it starts.
    pub(super) dump: PathBuf,
    pub(super) replicas: Vec<Process>,
    /// The ports at which replicas serve their metrics.
    metrics: Vec<u16>,
    pub(super) balancer: Process,
}

/// What a replica is started with.
pub(super) struct Place<'a> {
    pub(super) port: u16,
    pub(super) metrics: u16,
    /// The URL of Redis.
    pub(super) store: &'a str,
}

impl Rig {
    /// Starts Redis, `count` replicas, which `replica` makes the commands of, and haproxy.
    pub(super) fn start(
        folder: &Path,
        count: usize,
        replica: impl Fn(&Place<'_>) -> Command + Clone + Send + 'static,
    ) -> Result<Self, Failure> {
        let logs = folder.join("logs");
        fs::create_dir_all(&logs).map_err(|e| format!("{}: {e}", logs.display()))?;
        let ports = free_ports(2 * count + 2)?;
        let (redis_port, balancer_port) = (ports[0], ports[1]);
        let (replica_ports, metrics) = (ports[2..2 + count].to_vec(), ports[2 + count..].to_vec());
        let redis_folder = folder.to_owned();
        let redis = Process::new("redis", redis_port, &logs, move || redis(redis_port, &redis_folder))?;
        let store = format!("redis://127.0.0.1:{redis_port}");
        let mut replicas = Vec::new();
        for (at, (&port, &metrics)) in replica_ports.iter().zip(&metrics).enumerate() {
            let (replica, store) = (replica.clone(), store.clone());
            let start = move || replica(&Place { port, metrics, store: &store });
            replicas.push(Process::new(&format!("replica-{at}"), port, &logs, start)?);
        }
        let config = folder.join("haproxy.cfg");
        fs::write(&config, haproxy(balancer_port, &replica_ports)).map_err(|e| format!("{}: {e}", config.display()))?;
        let balancer = Process::new("haproxy", balancer_port, &logs, move || {
            let mut haproxy = command(&debian::find("haproxy").unwrap_or_default().to_string_lossy());
            haproxy.args(["-db", "-f"]).arg(&config);
            haproxy
        })?;
        Ok(Self { redis, dump: folder.join("dump.rdb"), replicas, metrics, balancer })
    }

    /// The value of a metric of a replica.
    pub(super) fn metric(&self, replica: usize, name: &str) -> Result<f64, Failure> {
        let ask = || {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.metrics[replica]))?;
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        };
        let text = ask().map_err(|e| format!("metrics: {e}"))?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.ok_or_else(|| format!("there is no metric `{name}`"))
    }

    /// Starts the replicas again that a client has killed.
    pub(super) fn restart_ended(&mut self) -> Result<(), Failure> {
        self.replicas.iter_mut().try_for_each(|replica| if replica.has_ended() { replica.start() } else { Ok(()) })
    }
}

fn redis(port: u16, folder: &Path) -> Command {
    let mut redis = command(super::store());
    redis.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string(), "--dir"]);
    redis.arg(folder);
    redis
}

/// Round robin over all replicas, without stickiness; a replica that does not answer `/ready` gets nothing.
fn haproxy(port: u16, replicas: &[u16]) -> String {
    let servers: String = replicas
        .iter()
        .map(|port| format!("  server r{port} 127.0.0.1:{port} check inter 200ms fall 1 rise 1\n"))
        .collect();
    format!(
        "defaults\n  mode http\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  timeout check 5s\n  option redispatch\n  \
         option abortonclose\n  option http-no-delay\n  retries 3\n  retry-on conn-failure\n\
         frontend mcp\n  bind 127.0.0.1:{port}\n  default_backend replicas\n\
         backend replicas\n  balance roundrobin\n  option httpchk GET /ready\n{servers}"
    )
}

/// Ports that are free at the moment, each different.
fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| format!("there is no free port: {e}"));
    let listeners = (0..count).map(|_| bind()).collect::<Result<Vec<_>, _>>()?;
    listeners.iter().map(|l| l.local_addr().map(|a| a.port()).map_err(|e| e.to_string())).collect()
}
