//! The number of a process on its host, as its launcher tells it.

use std::env;

/// The variables of Open MPI, Intel MPI and MPICH, Cray's and PMI's launchers, and Slurm. Slurm's is the last, since
/// `mpirun` in a job of Slurm leaves that of the job's script to all of its processes.
const VARIABLES: [&str; 4] =
    ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"];

/// The variables of the same launchers with the number of all processes. Slurm's is that of `srun`: the one of a whole
/// job is there for its script, too.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// The number of this process among those of its host, from 0, as `mpirun` or `srun` tells it in the environment;
/// `None` if neither has started it.
///
/// It is there without MPI and before MPI starts: for a process that takes the device of this number. Where MPI has
/// started, [`Transport::local_rank`](super::Transport::local_rank) is the same.
///
/// ```
/// use sparse_distrib::transport::launched_local_rank;
///
/// println!("this process takes the device cuda:{}", launched_local_rank().unwrap_or(0));
/// ```
pub fn launched_local_rank() -> Option<usize> {
    first_number(&VARIABLES, |name| env::var(name).ok())
}

/// The number of processes that `mpirun` or `srun` has started together with this one, as it tells in the environment;
/// `None` if neither has started it.
///
/// A program that is built without MPI learns from it that others do the same work.
///
/// ```
/// use sparse_distrib::transport::launched_ranks;
///
/// assert!(launched_ranks().is_none_or(|ranks| ranks >= 1));
/// ```
pub fn launched_ranks() -> Option<usize> {
    first_number(&SIZES, |name| env::var(name).ok())
}

fn first_number(names: &[&str], variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    names.iter().find_map(|name| variable(name)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_of_mpi_come_before_slurm() {
        let local_rank = |set: &[(&str, &str)]| {
            first_number(&VARIABLES, |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
            })
        };
        assert_eq!(local_rank(&[]), None);
        for name in VARIABLES {
            assert_eq!(local_rank(&[(name, "3")]), Some(3), "{name}");
        }
        assert_eq!(local_rank(&[("SLURM_LOCALID", "0"), ("OMPI_COMM_WORLD_LOCAL_RANK", "2")]), Some(2));
        assert_eq!(local_rank(&[("PMI_LOCAL_RANK", "none"), ("SLURM_LOCALID", "1")]), Some(1));
    }
}
