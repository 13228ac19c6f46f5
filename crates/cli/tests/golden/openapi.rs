//! `couplet openapi`: the list, mistakes, and calls on stdio and over HTTP.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use crate::{
    bridge::Served,
    kit::{Folder, couplet, golden, show},
};

const PETS: &str = r##"
openapi: 3.0.3
info: { title: Pets, version: '1.0' }
servers: [{ url: 'https://{region}.example.com/v1', variables: { region: { default: eu, enum: [eu, us] } } }]
security: [{ key: [] }]
paths:
  /pets:
    get:
      operationId: listPets
      summary: List pets
      tags: [pets]
      parameters:
        - { name: limit, in: query, schema: { type: integer, maximum: 100 } }
        - { name: page, in: query, schema: { type: integer } }
    post:
      operationId: addPet
      summary: Add a pet
      tags: [pets]
      requestBody:
        required: true
        content:
          application/json:
            schema: { type: object, required: [name], properties: { name: { type: string } } }
  /pets/{id}:
    get:
      operationId: getPet
      summary: Get a pet
      tags: [pets]
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    delete:
      operationId: removePet
      summary: Remove a pet
      tags: [pets, admin]
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
components:
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Key }
"##;

/// An API that answers each request with its first line and its key. It ends with the test.
fn api() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let key = head.iter().find_map(|line| line.to_lowercase().strip_prefix("x-key: ").map(str::to_owned));
            let first = head[0].trim_end_matches(" HTTP/1.1");
            let body = match first {
                "GET /v1/openapi.yaml" => PETS.replace("https://{region}.example.com", ""),
                first => format!("{first} with {}", key.unwrap_or_default()),
            };
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length";
            let _ = stream.write_all(format!("{answer}: {}\r\n\r\n{body}", body.len()).as_bytes());
        }
    });
    url
}

/// Runs the command with a key in the environment; the folder and the port are masked.
fn run(folder: &Folder, args: &[&str]) -> String {
    let output = couplet().args(args).env("PETS_KEY", "secret").output().unwrap();
    show(args, &output).replace(folder.file("").trim_end_matches('/'), "FOLDER")
}

#[test]
fn lists_and_mistakes() {
    let folder = Folder::new("openapi");
    let spec = &*folder.file("pets.yaml");
    fs::write(spec, PETS).unwrap();
    let wrong = &*folder.file("wrong.yaml");
    fs::write(wrong, "openapi: 4.0.0").unwrap();
    let local = &*folder.file("local.yaml");
    fs::write(local, PETS.replace("https://{region}.example.com", "")).unwrap();
    let missing = &*folder.file("missing.yaml");
    let text = [
        run(&folder, &["openapi", spec, "--list"]),
        run(&folder, &["openapi", spec, "--list", "--include", "tag:pets,method:get", "--include", "addPet"]),
        run(&folder, &["openapi", spec, "--list", "--exclude", "tag:admin", "--resources"]),
        run(&folder, &["openapi", spec, "--list", "--include", "tag:none"]),
        run(&folder, &["openapi", spec, "--list", "--include", "size:1"]),
        run(&folder, &["openapi", spec, "--list", "--auth", "other=x"]),
        run(&folder, &["openapi", spec, "--list", "--auth", "key=env:NO_SUCH_KEY"]),
        run(&folder, &["openapi", spec, "--list", "--variable", "region=evil.org/"]),
        run(&folder, &["openapi", spec, "--list", "--base-url", "ftp://x"]),
        run(&folder, &["openapi", local, "--list"]),
        run(&folder, &["openapi", wrong, "--list"]),
        run(&folder, &["openapi", missing, "--list"]),
    ];
    golden("openapi", &text.join("\n"));
}

#[test]
fn many_tools_are_listed_with_a_hint() {
    let folder = Folder::new("openapi-many");
    let spec = folder.file("many.yaml");
    for (count, is_hinted) in [(128, false), (129, true)] {
        let paths: String = (0..count).map(|at| format!("  /{at}: {{ get: {{}} }}\n")).collect();
        fs::write(&spec, format!("openapi: 3.0.0\nservers: [{{ url: 'https://example.com' }}]\npaths:\n{paths}"))
            .unwrap();
        let output = couplet().args(["openapi", &spec, "--list"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.contains("--include or --exclude")), (Some(0), is_hinted), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
    // A device that never ends is read as far as a document can be long.
    #[cfg(unix)]
    {
        let output = couplet().args(["openapi", "/dev/zero", "--list"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("more than 64 MiB"), "{said}");
    }
}

#[test]
fn calls_on_stdio() {
    let folder = Folder::new("openapi-stdio");
    let spec = folder.file("pets.yaml");
    fs::write(&spec, PETS).unwrap();
    let program = env!("CARGO_BIN_EXE_couplet");
    let server = format!("{program} openapi {spec} --base-url {} --auth key=env:PETS_KEY", api());
    let call = |args: &[&str]| {
        let mut command = couplet();
        command.env("PETS_KEY", "secret").args(["call", &server]).args(args).args(["--env", "PETS_KEY=secret"]);
        let output = command.output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (said, errors) = call(&["getPet", "id=a/b?c"]);
    assert_eq!(said.trim_end(), "GET /v1/pets/a%2Fb%3Fc with secret", "{errors}");
    let (said, errors) = call(&["listPets", "limit=5"]);
    assert_eq!(said.trim_end(), "GET /v1/pets?limit=5 with secret", "{errors}");
    let (said, errors) = call(&["getPet", "id=.."]);
    assert!((said.clone() + &errors).contains("must not contain the path segments"), "{said}{errors}");
}

#[test]
fn files_beside_a_document_and_limits_of_responses() {
    let folder = Folder::new("openapi-files");
    let spec = folder.file("api.yaml");
    fs::write(&spec, "openapi: 3.0.0\npaths: { /pets: { $ref: 'pets.yaml' } }").unwrap();
    fs::write(folder.file("pets.yaml"), "get: { operationId: listPets }").unwrap();
    let program = env!("CARGO_BIN_EXE_couplet");
    // Connections wait in the queue of the listener, and are not answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (api, silent) = (&*api(), &*format!("http://{}", silent.local_addr().unwrap()));
    for (api, flags, expected) in [
        (api, "--max-response 1K --timeout 60", "GET /v1/pets with"),
        (api, "--max-response 10", "more than 10 bytes"),
        (silent, "--timeout 0.05", "no answer within 50ms"),
        (api, "--timeout 0", "expected a number of seconds above 0"),
        (api, "--max-response 0", "the size is out of range"),
    ] {
        let server = format!("{program} openapi {spec} --base-url {api} {flags}");
        let output = couplet().args(["call", &server, "listPets"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{flags}: {said}");
    }
}

#[test]
fn calls_over_http() {
    let folder = Folder::new("openapi-http");
    let spec = folder.file("pets.yaml");
    fs::write(&spec, PETS).unwrap();
    let api = api();
    let args = ["openapi", &spec, "--base-url", &api, "--auth", "key=secret", "--http"];
    let refused = couplet().args(args).arg("0.0.0.0:0").output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("use the credentials of --auth") && refused.status.code() == Some(2), "{said}");

    let served = Served::start(&[&args[..], &["127.0.0.1:0"]].concat());
    let output = couplet().args(["call", &served.url, "addPet", "name=Rex"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), "POST /v1/pets with secret");

    // The document from a URL that the user names; its server is relative to it.
    let url = format!("{api}/openapi.yaml");
    let served = Served::start(&["openapi", &url, "--auth", "key=other", "--http", "127.0.0.1:0"]);
    let output = couplet().args(["call", &served.url, "getPet", "id=7"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), "GET /v1/pets/7 with other");
}
