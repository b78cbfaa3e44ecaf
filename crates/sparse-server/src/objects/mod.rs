//! Objects: matrices by tenant, name and version, in the device's memory, the host's or on disk.

#[cfg(unix)]
mod copies;
mod host_tier;
mod memory;
mod object;
mod publish;
mod recover;

use crate::durable::{Disk, Recovered};
use crate::lock::lock;
use crate::memory::host_work::HostWork;
use crate::memory::ledger::Ledger;
use crate::operations::Traffic;
use crate::problem::Problem;
use crate::request::labels::Selector;
#[cfg(unix)]
pub(crate) use copies::CopyGuard;
pub(crate) use host_tier::HostTier;
use nnz::Device;
#[cfg(unix)]
pub(crate) use object::tag_of;
pub(crate) use object::{Object, Resident, TIERS, View};
pub(crate) use publish::PutOptions;
#[cfg(unix)]
pub(crate) use publish::check_match;
use recover::{recover_durable, recover_volatile};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// The versions of an object of which at least one is there.
#[derive(Debug, Default)]
struct Versions {
    /// The newest version that was ever given.
    last: u64,
    /// True if the manifest knows `last` too; else it is forgotten with the last object.
    is_recorded: bool,
    ready: BTreeMap<u64, Arc<Object>>,
}

/// All objects of a server.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) device: Device,
    /// The number of the device among those of its service, if it has several.
    pub(crate) device_number: Option<usize>,
    pub(crate) ledger: Arc<Ledger>,
    /// The host's memory, if matrices move there before they move to disk.
    pub(crate) host_tier: Option<HostTier>,
    pub(crate) host_work: HostWork,
    pub(crate) disk: Disk,
    /// The bytes of matrices that a tenant may have, in memory and on disk.
    pub(crate) tenant_storage: u64,
    /// The versions of each object, by (tenant, name).
    objects: Mutex<HashMap<(String, String), Versions>>,
    /// Held while objects appear and disappear, so that disk and memory change in one order.
    publishing: Mutex<()>,
    /// Matrices of other devices, by the numbers of their copies.
    #[cfg(unix)]
    copies: Mutex<HashMap<u64, Arc<Object>>>,
    clock: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) traffic: Traffic,
}

impl Store {
    /// The objects of a device, which has a number if its service has several.
    pub(crate) fn new(
        (device, device_number): (Device, Option<usize>),
        (ledger, host_tier): (Arc<Ledger>, Option<HostTier>),
        disk: Disk,
        recovered: Recovered,
    ) -> Self {
        let mut objects: HashMap<(String, String), Versions> = HashMap::new();
        for (name, last) in recovered.versions {
            if let Some((tenant, name)) = name.split_once('/') {
                let versions = Versions { last, is_recorded: true, ready: BTreeMap::new() };
                objects.insert((tenant.into(), name.into()), versions);
            }
        }
        let durable = recovered.records.iter().map(|record| recover_durable(&disk, record));
        let volatile = recovered.volatile.iter().map(|record| recover_volatile(&disk, record));
        for object in durable.chain(volatile) {
            let object = Object { device: device_number, ..object };
            let versions = objects.entry((object.tenant.clone(), object.name.clone())).or_default();
            versions.last = versions.last.max(object.version);
            versions.ready.insert(object.version, Arc::new(object));
        }
        objects.retain(|_, versions| !versions.ready.is_empty());
        let (objects, publishing) = (Mutex::new(objects), Mutex::new(()));
        let (clock, evictions) = (AtomicU64::new(1), AtomicU64::new(0));
        Self {
            host_work: HostWork::of(&device),
            device,
            device_number,
            ledger,
            host_tier,
            disk,
            tenant_storage: u64::MAX,
            objects,
            publishing,
            #[cfg(unix)]
            copies: Mutex::default(),
            clock,
            evictions,
            traffic: Traffic::default(),
        }
    }

    /// An object by its name, in its newest version unless one is named.
    pub(crate) fn get(&self, tenant: &str, name: &str, version: Option<u64>) -> Result<Arc<Object>, Problem> {
        let objects = lock(&self.objects);
        let found = objects.get(&(tenant.into(), name.into())).and_then(|versions| match version {
            None => versions.ready.values().rev().find(|object| !object.is_expired()),
            Some(version) => versions.ready.get(&version).filter(|object| !object.is_expired()),
        });
        found.cloned().ok_or_else(|| {
            let version = version.map(|version| format!("@{version}")).unwrap_or_default();
            Problem::not_found(format!("there is no matrix `{name}{version}`: GET /v1/matrices lists them"))
        })
    }

    /// The objects of a tenant with the labels that are asked for, by name and version.
    pub(crate) fn list(&self, tenant: &str, selector: &Selector) -> Vec<Arc<Object>> {
        let mut found = self.all();
        found.retain(|object| {
            object.tenant == tenant && !object.is_expired() && selector.matches(&lock(&object.labels))
        });
        found.sort_by(|a, b| (&a.name, a.version).cmp(&(&b.name, b.version)));
        found
    }

    /// The number of matrices of a tenant, and their bytes, wherever they are.
    pub(crate) fn stored_by(&self, tenant: &str) -> (usize, u64) {
        let objects = lock(&self.objects);
        let own = objects.iter().filter(|((owner, _), _)| owner == tenant);
        let own = own.flat_map(|(_, versions)| versions.ready.values());
        own.fold((0, 0), |(count, bytes), object| (count + 1, bytes + object.description.bytes))
    }

    /// The tenants of all matrices.
    #[cfg(unix)]
    pub(crate) fn tenants(&self) -> Vec<String> {
        lock(&self.objects).keys().map(|(tenant, _)| tenant.clone()).collect()
    }

    /// Each `tenant/name` that an object has, or whose versions the manifest knows.
    #[cfg(unix)]
    pub(crate) fn names(&self) -> Result<Vec<String>, Problem> {
        let mut names = self.disk.recorded_names()?;
        names.extend(lock(&self.objects).keys().map(|(tenant, name)| format!("{tenant}/{name}")));
        Ok(names)
    }

    /// The bytes of the matrices in each of the [`TIERS`].
    pub(crate) fn bytes_by_tier(&self) -> [u64; 3] {
        let mut bytes = [0; 3];
        for (tier, of_object) in self.all().iter().filter_map(|object| object.tier_bytes()) {
            let of_tier = TIERS.iter().position(|known| *known == tier).map(|index| &mut bytes[index]);
            of_tier.into_iter().for_each(|sum| *sum += of_object);
        }
        bytes
    }

    pub(crate) fn all(&self) -> Vec<Arc<Object>> {
        lock(&self.objects).values().flat_map(|versions| versions.ready.values().cloned()).collect()
    }
}
