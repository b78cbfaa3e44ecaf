//! TLS by rustls.

use crate::config::TlsFiles;
use crate::error::StartError;
use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client};

/// The acceptor of connections, by files that may be read again.
pub(crate) struct Tls {
    files: TlsFiles,
    acceptor: RwLock<TlsAcceptor>,
}

impl Debug for Tls {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    pub(crate) fn read(files: &TlsFiles) -> Result<Self, StartError> {
        Ok(Self { files: files.clone(), acceptor: RwLock::new(acceptor(files)?) })
    }

    /// Takes what the files have now for the connections that follow; on an error nothing changes.
    pub(crate) fn read_again(&self) -> Result<(), StartError> {
        let acceptor = acceptor(&self.files)?;
        *self.acceptor.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }

    /// The acceptor of the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An acceptor with the certificate and the key of two files, which asks clients for theirs where authorities are
/// named.
fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, StartError> {
    let provider = Arc::new(default_provider());
    let chain = certificates(&files.certificate)?;
    let key = private_key(&files.key)?;
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

/// The files of a client: the authorities that it trusts, and its own certificate and key where the server asks for them.
#[derive(Debug, Clone)]
pub(crate) struct ClientFiles {
    pub(crate) authorities: PathBuf,
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

impl ClientFiles {
    fn config(&self) -> Result<ClientConfig, StartError> {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| StartError::file(&self.authorities, error))?
            .with_root_certificates(root_store(&self.authorities)?);
        let Some((certificate, key)) = &self.identity else { return Ok(config.with_no_client_auth()) };
        config
            .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
            .map_err(|error| StartError::file(certificate, error))
    }
}

/// Talks TLS with a server, whose certificate an authority of the client's must have signed.
pub(crate) async fn connect(
    files: &ClientFiles,
    host: &str,
    stream: TcpStream,
) -> Result<client::TlsStream<TcpStream>, String> {
    let config = files.config().map_err(|error| error.to_string())?;
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

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, StartError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| StartError::file(path, format!("a PEM private key: {error}")))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => Err(StartError::file(path, "PEM certificates: there is none")),
        read => read.map_err(|error| StartError::file(path, format!("PEM certificates: {error}"))),
    }
}
