//! TLS, as `sslmode` asks for it.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    StreamOwned, SupportedProtocolVersion,
};

use super::address::{Address, Tls};
use super::socket::{Socket, words};
use super::wrong::Wrong;

pub type Encrypted = StreamOwned<ClientConnection, Socket>;

const ONLY_1_2: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];

pub fn over(socket: Socket, host: &str, address: &Address) -> Result<Encrypted, Wrong> {
    let provider = Arc::new(ring::default_provider());
    let (roots, known) = trusted(address)?;
    let verifier = Verifier { provider: Arc::clone(&provider), roots, known, wanted: address.tls };
    // TLS 1.3 sends handshake messages after the handshake, which would not be framed.
    let versions = if socket.is_packed() { ONLY_1_2 } else { rustls::DEFAULT_VERSIONS };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols =
        address.tls_at_once.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| format!("'{host}' is no name that a certificate could bear"))?;
    let connection =
        ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|error| told(&error))?;
    }
    Ok(stream)
}

fn told(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::InvalidData { error.to_string() } else { words(error) }
}

/// The trusted certificates, if the mode needs any.
fn trusted(address: &Address) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), Wrong> {
    let (mut roots, mut known) = (RootCertStore::empty(), Vec::new());
    if address.tls < Tls::VerifyCa {
        return Ok((roots, known));
    }
    let file = address.root_certificates.as_ref().ok_or(
        "sslmode=verify-ca and verify-full need the certificates of who is trusted: sslrootcert=FILE",
    )?;
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", file.display());
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(&error))? {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate.clone()).map_err(|error| failed(&error))?;
        known.push(certificate);
    }
    Ok((roots, known))
}

#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
    /// The same, for a server whose own, perhaps self-signed, certificate is trusted.
    known: Vec<CertificateDer<'static>>,
    wanted: Tls,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        if self.wanted >= Tls::VerifyCa && !self.known.contains(certificate) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            let roots = &self.roots;
            verify_server_cert_signed_by_trust_anchor(
                &parsed,
                roots,
                intermediates,
                now,
                algorithms,
            )?;
        }
        if self.wanted == Tls::VerifyFull {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
