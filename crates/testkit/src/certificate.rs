//! Certificates for tests.

use std::path::Path;
use std::process::Command;

pub fn certificate(into: &Path, name: &str) {
    let mut command = Command::new("openssl");
    command.args(["req", "-new", "-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048"]);
    command.args(["-subj", &format!("/CN={name}"), "-addext"]);
    command.arg(format!("subjectAltName=DNS:{name}"));
    command.args(["-keyout", "server.key", "-out", "server.crt"]).current_dir(into);
    let output = command.output().expect("this test needs openssl: apt-get install openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
