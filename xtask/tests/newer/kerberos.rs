//! Kerberos on a real PostgreSQL: with a ticket the login works, without one the error says so.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use hopcost_testkit::postgresql::PostgreSql;
use xtask::apt;
use xtask::test::tested_hopcost;

const PACKAGES: [&str; 13] = [
    "krb5-kdc",
    "krb5-admin-server",
    "libkdb5-10",
    "libkadm5srv-mit12",
    "libkadm5clnt-mit12",
    "libgssrpc4",
    "libverto1",
    "libverto-libev1",
    "libev4",
    "libkrb5-3",
    "libk5crypto3",
    "libkrb5support0",
    "libgssapi-krb5-2",
];

struct Realm {
    root: PathBuf,
    dir: tempfile::TempDir,
    child: Option<Child>,
}

impl Realm {
    fn start() -> Self {
        let root = apt::unpacked("kerberos", &PACKAGES).unwrap();
        let mut realm = Self { root, dir: tempfile::tempdir().unwrap(), child: None };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        realm.configure(port);
        realm.does("kdb5_util", &["create", "-s", "-P", "secret"]);
        for question in [
            "addprinc -randkey me".to_owned(),
            "addprinc -randkey postgres/localhost".to_owned(),
            format!("ktadd -k {} me", realm.file("user").display()),
            format!("ktadd -k {} postgres/localhost", realm.file("server").display()),
        ] {
            realm.does("kadmin.local", &["-q", &question]);
        }
        realm.child = Some(realm.program("krb5kdc").arg("-n").spawn().unwrap());
        let answers = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!((0..200).any(|_| answers() || pause()), "no realm");
        realm
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn libraries(&self) -> PathBuf {
        self.root.join("usr/lib/x86_64-linux-gnu")
    }

    fn configure(&self, port: u16) {
        let user = format!(
            "[libdefaults]\ndefault_realm = HOPCOST.TEST\ndns_lookup_kdc = false\n\
             dns_canonicalize_hostname = false\n\
             [realms]\nHOPCOST.TEST = {{\nkdc = 127.0.0.1:{port}\n}}\n\
             [domain_realm]\nlocalhost = HOPCOST.TEST\n"
        );
        fs::write(self.file("krb5.conf"), user).unwrap();
        let (dir, libraries) = (self.dir.path().display(), self.libraries());
        let realm = format!(
            "[kdcdefaults]\nkdc_listen = 127.0.0.1:{port}\nkdc_tcp_listen = 127.0.0.1:{port}\n\
             [realms]\nHOPCOST.TEST = {{\ndatabase_name = {dir}/principals\nkey_stash_file = {dir}/stash\n}}\n\
             [dbmodules]\ndb_module_dir = {}/krb5/plugins/kdb\n",
            libraries.display()
        );
        fs::write(self.file("kdc.conf"), realm).unwrap();
    }

    fn program(&self, name: &str) -> Command {
        let mut program = Command::new(self.root.join("usr/sbin").join(name));
        program.env("LD_LIBRARY_PATH", self.libraries());
        program.env("KRB5_CONFIG", self.file("krb5.conf"));
        program.env("KRB5_KDC_PROFILE", self.file("kdc.conf"));
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        program
    }

    fn does(&self, name: &str, arguments: &[&str]) {
        let done = self.program(name).args(arguments).status().unwrap();
        assert!(done.success(), "{name} {arguments:?}");
    }

    fn hopcost(&self, keys: &Path, arguments: &[&str]) -> Output {
        let mut hopcost = Command::new(tested_hopcost().unwrap());
        hopcost.args(arguments).env("KRB5_CONFIG", self.file("krb5.conf"));
        hopcost.env("KRB5_CLIENT_KTNAME", keys).env("KRB5CCNAME", self.file("tickets"));
        hopcost.output().unwrap()
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn pause() -> bool {
    std::thread::sleep(Duration::from_millis(50));
    false
}

#[test]
fn who_has_a_ticket_is_let_in_and_who_has_none_is_told_so() {
    let realm = Realm::start();
    let server = PostgreSql::with_tickets(&realm.file("server"));
    let target = format!("postgres:{}", server.tcp("me", ""));
    let drive = ["drive", &target, "--workload", "null_call", "--duration", "0.1s"];
    let output = realm.hopcost(&realm.file("user"), &drive);
    let [said, errors] =
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(said.contains("calls a second of null_call"), "{said}\n{errors}");
    fs::remove_file(realm.file("tickets")).unwrap();
    let output = realm.hopcost(&realm.file("no such keys"), &drive);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("Kerberos: ") && errors.contains("kinit"), "{errors}");
}
