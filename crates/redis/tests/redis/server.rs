//! A server of its own for each test.

use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use couplet_redis::{Redis, RedisBuilder};

use crate::skipped::skipped;

/// The key of all tests.
pub(crate) const KEY: [u8; 32] = [7; 32];

/// The program that is tested with: Valkey where it is installed.
pub(crate) fn program() -> &'static str {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&path).any(|folder| folder.join("valkey-server").is_file());
    if is_installed { "valkey-server" } else { "redis-server" }
}

/// A server that does not run.
#[allow(dead_code, reason = "not all features need it")]
pub(crate) fn nowhere() -> Redis {
    let nowhere = std::env::temp_dir().join(format!("couplet-no-redis-{}", std::process::id()));
    Redis::new(&format!("redis+unix://{}", nowhere.display()), KEY).expect("the URL is valid")
}

/// A `valkey-server` or `redis-server` on a Unix socket in a folder of its own. Both are gone when it is dropped.
pub(crate) struct Server {
    folder: PathBuf,
    options: Vec<String>,
    process: Option<Child>,
}

impl Server {
    /// Starts a server, or reports that the test is skipped.
    pub(crate) async fn start() -> Option<Self> {
        Self::with(&[]).await
    }

    /// Starts a cluster of one server, which refuses a script whose keys are in several slots.
    pub(crate) async fn cluster() -> Option<Self> {
        // For the other servers of the cluster, of which there are none.
        let port = free_port();
        let server = Self::with(&["--cluster-enabled", "yes", "--cluster-port", &port]).await?;
        let _: String = server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]).await;
        loop {
            let state: String = server.command(&["CLUSTER", "INFO"]).await;
            if state.contains("cluster_state:ok") {
                return Some(server);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Starts a server with more options.
    pub(crate) async fn with(options: &[&str]) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("couplet-redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let mut server = Self { folder, options, process: None };
        if let Err(error) = server.run().await {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            skipped("neither valkey-server nor redis-server is installed");
            return None;
        }
        Some(server)
    }

    /// Starts the process, and waits until it answers.
    pub(crate) async fn run(&mut self) -> std::io::Result<()> {
        let socket = self.folder.join("socket");
        let mut command = Command::new(program());
        command.args([
            "--port",
            "0",
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--daemonize",
            "no",
            "--unixsocket",
        ]);
        command.arg(&socket).arg("--dir").arg(&self.folder).args(&self.options);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(command.spawn()?);
        let redis = self.redis();
        for _ in 0..1000 {
            if redis.ping().await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} does not answer", program());
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.join("socket").display())
    }

    pub(crate) fn builder(&self) -> RedisBuilder {
        // Long, so that a slow machine is not a failure.
        Redis::builder(&self.url(), KEY).timeout(Duration::from_secs(30))
    }

    pub(crate) fn redis(&self) -> Redis {
        self.builder().build().expect("the URL is valid")
    }

    /// A connection past the library.
    pub(crate) async fn raw(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.url()).expect("the URL is valid");
        client.get_multiplexed_async_connection().await.expect("the server answers")
    }

    /// Runs a command past the library.
    pub(crate) async fn command<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(word);
        });
        command.query_async(&mut self.raw().await).await.expect("the command is valid")
    }

    /// Takes its memory: from now on it refuses writes that need more.
    pub(crate) async fn fill(&self) {
        self.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    }

    /// Asserts that each key has the prefix and a time to live.
    pub(crate) async fn assert_all_expire(&self, prefix: &str) {
        let keys: Vec<String> = self.command(&["KEYS", "*"]).await;
        assert!(!keys.is_empty());
        for key in keys {
            let ttl: i64 = self.command(&["PTTL", &key]).await;
            assert!(ttl > 0 && key.starts_with(prefix), "{key} lives {ttl} ms");
        }
    }

    /// Kills the process: all data is lost.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it is ours");
            process.wait().expect("it is ours");
        }
    }

    /// Stops the process in its tracks, until it gets `CONT`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.as_ref().expect("it runs").id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status().expect("`kill` is there");
        assert!(sent.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A port that nothing listens on.
pub(crate) fn free_port() -> String {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    address.expect("there is a free port").port().to_string()
}
