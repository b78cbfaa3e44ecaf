//! TLS by rustls.

use crate::config::TlsFiles;
use crate::error::StartError;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// An acceptor with the certificate and the key of two files.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, StartError> {
    let certificate =
        |error| StartError::file(&files.certificate, format!("a PEM certificate chain: {error}"));
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(&files.certificate).and_then(Iterator::collect).map_err(certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| StartError::file(&files.key, format!("a PEM private key: {error}")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| StartError::file(&files.certificate, error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
