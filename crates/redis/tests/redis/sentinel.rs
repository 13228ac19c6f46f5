//! A primary that sentinels know.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use couplet_core::ErrorKind;
use couplet_http::server::{Node, SessionRecord, SessionStore};
use couplet_redis::{Redis, RedisBus, RedisSessions};
use couplet_testing::contract;

use crate::server::{KEY, Server, free_port, program};

const HOUR: Duration = Duration::from_secs(3600);

/// A `redis-server` that is a sentinel. It is gone when it is dropped.
struct Sentinel {
    folder: PathBuf,
    port: String,
    process: Child,
}

impl Sentinel {
    fn start(primary: &str) -> Self {
        let port = free_port();
        let folder = std::env::temp_dir().join(format!("couplet-sentinel-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let settings = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nrequirepass watch\nsentinel sentinel-pass watch\n\
             sentinel monitor main 127.0.0.1 {primary} 2\nsentinel down-after-milliseconds main 500\n\
             sentinel failover-timeout main 3000\n",
            folder.display()
        );
        // It writes down what it learns.
        let file = folder.join("sentinel.conf");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new(program());
        command.arg(file).arg("--sentinel").stdout(Stdio::null()).stderr(Stdio::null());
        Self { process: command.spawn().unwrap(), folder, port }
    }

    /// Whether it knows all others.
    async fn is_ready(&self) -> bool {
        let Ok(client) = redis::Client::open(format!("redis://:watch@127.0.0.1:{}", self.port)) else { return false };
        let Ok(mut connection) = client.get_multiplexed_async_connection().await else { return false };
        let info: redis::RedisResult<String> = redis::cmd("INFO").arg("sentinel").query_async(&mut connection).await;
        info.is_ok_and(|info| info.contains("slaves=1,sentinels=3"))
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Waits; what is not ready after half a minute is broken.
async fn until(is_so: impl AsyncFn() -> bool) {
    for _ in 0..3000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it is not ready");
}

#[tokio::test]
async fn a_failover_is_followed() {
    let (first, second) = (free_port(), free_port());
    let Some(mut primary) = Server::with(&["--port", &first]).await else { return };
    let options = ["--port", &second, "--replicaof", "127.0.0.1", &first];
    let Some(replica) = Server::with(&options).await else { return };
    let sentinels = [(); 3].map(|()| Sentinel::start(&first));
    for sentinel in &sentinels {
        until(async || sentinel.is_ready().await).await;
    }
    // One of those in the URL is not there.
    let hosts: Vec<_> = sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
    let hosts = format!("127.0.0.1:1,{}", hosts.join(","));
    let redis = |name: &str, query: &str| {
        let url = format!("redis+sentinel://{hosts}/{name}{query}");
        Redis::builder(&url, KEY).timeout(Duration::from_secs(30)).build().unwrap()
    };
    let (right, password) = (redis("main", "?sentinel_password=watch"), "?sentinel_password=watch");
    let store = RedisSessions::new(&right);
    contract::session_store(&store).await;
    contract::change_bus(&RedisBus::new(&right), &RedisBus::new(&right)).await;

    let error = redis("other", password).ping().await.unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("check its name"), "{error}");
    let error = redis("main", "").ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "the sentinels want a password: {error}");

    let (record, node) = (SessionRecord::new("a", None, "{}".into()).opened(7), Node::new("one"));
    store.create(record.clone(), &node, HOUR).await.unwrap();
    let keys: Vec<String> = primary.command(&["KEYS", "*"]).await;
    until(async || replica.command::<Vec<String>>(&["KEYS", "*"]).await.len() == keys.len()).await;
    primary.kill();
    until(async || match store.create(record.clone(), &node, HOUR).await {
        Ok(generation) => generation > 1,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
            false
        }
    })
    .await;
    let role: Vec<redis::Value> = replica.command(&["ROLE"]).await;
    assert_eq!(role[0], redis::Value::BulkString(b"master".to_vec()));
}
