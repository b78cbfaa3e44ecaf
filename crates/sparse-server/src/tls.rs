//! TLS by rustls.

use crate::config::TlsFiles;
use crate::error::StartError;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client};

/// An acceptor with the certificate and the key of two files, which asks clients for theirs where authorities are
/// named.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, StartError> {
    let provider = Arc::new(default_provider());
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| StartError::file(&files.key, format!("a PEM private key: {error}")))?;
    let clients = match &files.client_authorities {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(path) => client_verifier(path, &provider)?,
    };
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_client_cert_verifier(clients).with_single_cert(chain, key))
        .map_err(|error| StartError::file(&files.certificate, error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Talks TLS with a server, whose certificate an authority of the file must have signed.
pub(crate) async fn connect(
    authorities: &Path,
    host: &str,
    stream: TcpStream,
) -> Result<client::TlsStream<TcpStream>, String> {
    let roots = root_store(authorities).map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))?;
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    connected.map_err(|error| format!("{host}: {error}"))
}

/// Accepts the clients whose certificates an authority of the file has signed.
fn client_verifier(
    path: &Path,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, StartError> {
    let authorities = root_store(path)?;
    // It fails without a certificate in the file.
    WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider.clone())
        .build()
        .map_err(|error| StartError::file(path, error))
}

fn root_store(path: &Path) -> Result<RootCertStore, StartError> {
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(path)? {
        authorities.add(certificate).map_err(|error| StartError::file(path, error))?;
    }
    Ok(authorities)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    read.map_err(|error| StartError::file(path, format!("PEM certificates: {error}")))
}
