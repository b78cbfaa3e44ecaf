//! The memory that this process may have: what Linux has available, within the limits of its control groups.

use std::fs::read_to_string;
use std::path::Path;
use std::sync::OnceLock;

/// Where the hierarchies of control groups are mounted.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Bytes that processes could be given without swapping when this was first asked, as Linux estimates them, or the
/// limit of this process's control group (that of a container, a service or a job) where that is less; `None` on
/// other systems. It stays the same, since devices with equal abilities are the same to users.
pub(crate) fn available_memory() -> Option<u64> {
    static AVAILABLE: OnceLock<Option<u64>> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        let available = available_in(&read_to_string("/proc/meminfo").ok()?)?;
        let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
        let limit = control_group_limit(&groups, Path::new(CONTROL_GROUPS));
        Some(limit.map_or(available, |limit| limit.min(available)))
    })
}

/// `MemAvailable` of `/proc/meminfo`, which counts in units of 1024 bytes.
fn available_in(meminfo: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The least limit in bytes of the control groups of `/proc/self/cgroup` and of those that contain them.
///
/// A line is `0::/path` (version 2) or `4:memory:/path` (version 1). In a container the path may be that of the host,
/// which is not there; the root of the hierarchy is the container's group then.
fn control_group_limit(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let (hierarchy, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return vec![],
        };
        // `max` is no number, and none is no limit.
        let limit = |group: &Path| {
            let relative = group.strip_prefix("/").ok()?;
            read_to_string(hierarchy.join(relative).join(file)).ok()?.trim().parse::<u64>().ok()
        };
        Path::new(path).ancestors().filter_map(limit).collect()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_available_memory_is_read_from_its_line() {
        let meminfo = "MemTotal:       65536 kB\nMemFree:          10 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available_in(meminfo), Some(2 << 20));
        assert_eq!(available_in("MemAvailable: 2048 pages"), None);
        assert_eq!(available_in(""), None);
    }

    #[test]
    fn the_least_limit_of_the_groups_around_the_process_counts() {
        let root = std::env::temp_dir().join(format!("nnz-control-groups-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let limit = |groups: &str| control_group_limit(groups, &root);
        // Version 2: the root of the machine has no limit, its groups may have.
        write("slice/memory.max", "4194304\n");
        write("slice/job/memory.max", "max\n");
        assert_eq!(limit("0::/slice/job\n"), Some(4 << 20));
        assert_eq!(limit("0::/other\n"), None);
        // Version 1, in a container that sees its own group alone.
        write("memory/memory.limit_in_bytes", "2097152\n");
        assert_eq!(limit("3:cpuset:/docker/f\n2:cpu,memory:/docker/f\n0::/\n"), Some(2 << 20));
        write("memory/lab/memory.limit_in_bytes", "1048576\n");
        assert_eq!(limit("4:memory:/lab\n"), Some(1 << 20));
        assert_eq!(limit("9:name=systemd:/lab\n"), None);
        assert_eq!(limit("nonsense\n:\n0::relative\n"), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
