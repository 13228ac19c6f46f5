//! Servers of projects, and files of variables.

use std::fs;

use couplet_gateway::{Approvals, Config, Gateway};
use serde_json::json;

use crate::kit::{File, SHORT};

/// Relative paths start from the folder of the file that has them: the user's own, or that of the project.
#[tokio::test]
async fn relative_paths_start_from_the_file_that_has_them() {
    let (own, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let out = tempfile::tempdir().unwrap();
    // A server that writes down how it was started, and ends.
    let entry = |name: &str| {
        json!({
            "command": "sh",
            "args": ["-c", "echo $(pwd -P) $KEY $OTHER $MORE > $OUT.new; mv $OUT.new $OUT"],
            "cwd": "sub",
            "env": { "OUT": out.path().join(name), "KEY": "${file:key}", "OTHER": "written" },
            "envFile": "variables",
        })
    };
    for (folder, name, file) in [(&own, "mine", "gateway.json"), (&project, "theirs", ".mcp.json")] {
        let config = json!({ "mcpServers": { name: entry(name) } });
        let texts = [
            (file, config.to_string()),
            ("key", name.to_owned()),
            ("variables", format!("OTHER=x\nMORE=more-{name}\n")),
        ];
        for (file, text) in texts {
            fs::write(folder.path().join(file), text).unwrap();
        }
        fs::create_dir(folder.path().join("sub")).unwrap();
    }
    let env = File::new("{}").env();
    let (path, config) = (project.path().join(".mcp.json"), own.path().join("gateway.json"));
    let approvals = Approvals::of(&env);
    approvals.approve(&approvals.read(&path, &env).unwrap()).unwrap();
    let gateway = Gateway::start(Config::load(&config, &env).unwrap(), env, [path]).await.unwrap();
    gateway.ready(SHORT).await;
    gateway.close().await;
    for (folder, name) in [(&own, "mine"), (&project, "theirs")] {
        let folder = folder.path().canonicalize().unwrap().join("sub");
        let expected = format!("{} {name} written more-{name}\n", folder.display());
        assert_eq!(fs::read_to_string(out.path().join(name)).unwrap(), expected);
    }
}

/// A server of a project is not started with other variables than the approved ones, also by a gateway that runs already and
/// has the approved configuration.
#[tokio::test]
async fn s25_variables_that_were_not_approved_start_no_server() {
    let (project, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let started = out.path().join("started");
    let config = json!({ "mcpServers": { "theirs": {
        "command": "sh",
        "args": ["-c", "echo $EVIL > $OUT.new; mv $OUT.new $OUT"],
        "env": { "OUT": &started },
        "envFile": ".env",
    } } });
    let (path, vars) = (project.path().join(".mcp.json"), project.path().join(".env"));
    fs::write(&path, config.to_string()).unwrap();
    fs::write(&vars, "EVIL=no\n").unwrap();
    let file = File::new(r#"{ "mcpServers": {} }"#);
    let env = file.env();
    let approvals = Approvals::of(&env);
    let approve = || approvals.approve(&approvals.read(&path, &env).unwrap()).unwrap();
    approve();
    let own = Config::load(&file.path(), &env).unwrap();
    let gateway = Gateway::start(own, env.clone(), [path.clone()]).await.unwrap();
    assert_eq!(gateway.config().servers.len(), 1);
    fs::write(&vars, "EVIL=yes\n").unwrap();
    gateway.ready(SHORT).await;
    let status = gateway.status().to_string();
    assert!(status.contains("is not as it was approved: see `couplet gateway trust"), "{status}");
    assert!(!started.exists());
    gateway.close().await;

    let own = || Config::load(&file.path(), &env).unwrap();
    let gateway = Gateway::start(own(), env.clone(), [path.clone()]).await.unwrap();
    assert!(gateway.config().servers.is_empty(), "nor is it added by a gateway that starts");
    gateway.close().await;
    approve();
    let gateway = Gateway::start(own(), env.clone(), [path.clone()]).await.unwrap();
    gateway.ready(SHORT).await;
    gateway.close().await;
    assert_eq!(fs::read_to_string(&started).unwrap(), "yes\n");
}
