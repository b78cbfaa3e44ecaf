//! Requests over TLS, with the certificates of `tests/tls`.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file(&format!("{name}.pem"))).unwrap()
}

/// A connection to a server, by a client with the certificate of this name.
pub(crate) fn connect(address: SocketAddr, client: Option<&str>) -> StreamOwned<ClientConnection, TcpStream> {
    let mut authorities = RootCertStore::empty();
    authorities.add(certificate("authority")).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(authorities);
    let config = match client {
        None => config.with_no_client_auth(),
        Some(name) => {
            let key = PrivateKeyDer::from_pem_file(file(&format!("{name}.key"))).unwrap();
            config.with_client_auth_cert(vec![certificate(name)], key).unwrap()
        }
    };
    let name = ServerName::from(address.ip());
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    StreamOwned::new(connection, stream)
}
