//! The state of the matrices and operations of one device, which their handlers share.

use crate::config::Config;
use crate::execution::jobs::Jobs;
use crate::execution::merge::Queues;
use crate::execution::thread_pool::ThreadPool;
#[cfg(unix)]
use crate::limits::usage::Usage;
use crate::objects::Store;
use crate::observability::metrics::{Metrics, Snapshot};
use crate::request::idempotency::Keys;
#[cfg(unix)]
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::interval;

/// The state of a device; a clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct DeviceState(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Arc<Store>,
    pub(crate) threads: ThreadPool,
    pub(crate) jobs: Jobs,
    pub(crate) queues: Queues,
    pub(crate) keys: Arc<Keys>,
    pub(crate) metrics: Metrics,
    bandwidth: OnceCell<Option<f64>>,
    /// The number of this process among the workers of its service, if it is one.
    pub(crate) generation: Option<u64>,
}

impl std::ops::Deref for DeviceState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl DeviceState {
    /// The state of a process of the service, which is one of its workers if it has a number.
    pub(crate) fn new(config: Config, store: Store, service: &str, generation: Option<u64>) -> Self {
        Self(Arc::new(Shared {
            threads: ThreadPool::new(&config.limits),
            jobs: Jobs::new(config.limits.jobs, store.ledger.elsewhere.clone(), service, generation),
            queues: Queues::default(),
            keys: Arc::default(),
            metrics: Metrics::new(store.device_number, &store.traffic),
            bandwidth: OnceCell::new(),
            generation,
            config,
            store: Arc::new(store),
        }))
    }

    /// True if a tenant has a matrix of this name, or a job may make one. Jobs come first: one that has ended meanwhile
    /// has stored its result.
    pub(crate) fn is_taken(&self, tenant: &str, name: &str) -> bool {
        self.jobs.targets().contains(&format!("{tenant}/{name}"))
            || self.store.get(tenant, name, None).is_ok()
    }

    /// The matrices, jobs and bytes of a tenant on the device.
    #[cfg(unix)]
    pub(crate) fn usage(&self, tenant: &str) -> Usage {
        let (matrices, stored_bytes) = self.store.stored_by(tenant);
        Usage {
            bytes: self.store.ledger.used_by(tenant),
            jobs: self.jobs.count_of(tenant),
            matrices,
            stored_bytes,
        }
    }

    /// The matrices, jobs and bytes of each tenant on the device.
    #[cfg(unix)]
    pub(crate) fn usages(&self) -> HashMap<String, Usage> {
        let tenants: HashSet<_> = [self.store.ledger.tenants(), self.jobs.tenants(), self.store.tenants()]
            .concat()
            .into_iter()
            .collect();
        tenants.into_iter().map(|tenant| (tenant.clone(), self.usage(&tenant))).collect()
    }

    /// The bandwidth of the device's memory, measured when it is first asked for.
    pub(crate) async fn bandwidth(&self) -> Option<f64> {
        let measure = || async {
            let device = self.store.device.clone();
            match spawn_blocking(move || device.memory_bandwidth()).await {
                Ok(Ok(bandwidth)) => Some(bandwidth),
                Ok(Err(error)) => {
                    tracing::warn!("the memory's bandwidth: {error}");
                    None
                }
                Err(error) => {
                    tracing::error!("the memory's bandwidth: {error}");
                    None
                }
            }
        };
        *self.bandwidth.get_or_init(measure).await
    }

    pub(crate) fn snapshot(&self, bandwidth: Option<f64>) -> Snapshot {
        let host_tier = self.store.host_tier.as_ref();
        Snapshot {
            memory_used: self.store.ledger.used(),
            memory_capacity: self.store.ledger.capacity(),
            memory_allocated: self.store.device.allocated_bytes(),
            bandwidth,
            host_memory_capacity: host_tier.map_or(0, |tier| tier.ledger.capacity()),
            tiers: self.store.bytes_by_tier(),
            objects: self.store.all().len(),
            running: self.threads.running(),
            waiting: self.threads.waiting(),
            jobs: self.jobs.count(),
            evictions: self.store.evictions.load(Ordering::Relaxed),
        }
    }

    /// Deletes matrices whose time is over, each second.
    pub(crate) async fn delete_expired(self) {
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            let store = self.store.clone();
            match spawn_blocking(move || store.delete_expired()).await {
                Ok(Ok(())) => (),
                Ok(Err(problem)) => tracing::error!("deleting what expired: {problem:?}"),
                Err(error) => tracing::error!("deleting what expired: {error}"),
            }
        }
    }

    /// Waits until the device no longer takes and gives back a number, as after a sticky error of CUDA, and says why.
    #[cfg(unix)]
    pub(crate) async fn device_failure(&self) -> String {
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            let device = self.store.device.clone();
            match spawn_blocking(move || nnz::Vector::from_slice(&device, &[1.0_f32])?.to_vec::<f32>()).await
            {
                // Matrices may take all of its memory.
                Ok(Ok(_) | Err(nnz::Error::OutOfMemory { .. })) => (),
                Ok(Err(error)) => return error.to_string(),
                Err(error) => return error.to_string(),
            }
        }
    }
}
