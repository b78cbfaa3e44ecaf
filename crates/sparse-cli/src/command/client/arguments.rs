//! The requests of the command line and their arguments.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Request {
    /// Shows the devices and their memory
    Status,
    /// Lists the matrices
    List {
        /// Lists those with these labels alone, as in project=pde,run
        #[arg(long, value_name = "LABELS")]
        label: Option<String>,
    },
    /// Describes a matrix, without its entries
    Describe {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Uploads a file as a new version of a matrix
    Put {
        /// The file: .mtx, .mtx.gz, .npz or .npy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The name of the matrix
        #[arg(value_name = "NAME")]
        name: String,
        /// Parameters of the upload: durable=1 keeps it over restarts, parts=2 divides its rows over two devices
        #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
        parameters: Vec<(String, String)>,
        /// Resumes the upload when the connection breaks
        #[arg(long)]
        resumable: bool,
        /// Resumes the upload of this id, which was broken off
        #[arg(long, value_name = "ID")]
        upload: Option<String>,
    },
    /// Writes a matrix to a file
    Get {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// The file to write: .mtx, .npz or .npy; - is standard output, which gets .mtx
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Deletes all versions of a name, or that of name@version
    Delete {
        /// NAME for all of its versions, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Keeps a matrix in the device's memory
    Pin {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Lets a matrix leave the device's memory again
    Unpin {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Replaces the labels of a matrix
    Label {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// The labels, as in project=pde,run=7
        #[arg(value_name = "LABELS")]
        labels: String,
    },
    /// Lists the aliases
    Aliases,
    /// Makes an alias of a matrix, or moves it to another matrix
    Alias {
        /// The name of the alias
        #[arg(value_name = "ALIAS")]
        alias: String,
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// durable=1 keeps it over restarts
        #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
        parameters: Vec<(String, String)>,
    },
    /// Deletes an alias; the matrix stays
    DeleteAlias {
        /// The name of the alias
        #[arg(value_name = "ALIAS")]
        alias: String,
    },
    /// Runs an operation on a matrix
    Run {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// The operation, such as spmv, spmm, solve or norm
        #[arg(value_name = "OPERATION")]
        operation: String,
        #[command(flatten)]
        computation: Computation,
    },
    /// Runs several operations in one request
    Program {
        /// The file of the steps, a list in JSON
        #[arg(value_name = "STEPS")]
        steps: PathBuf,
        #[command(flatten)]
        computation: Computation,
    },
    /// Lists the jobs
    Jobs,
    /// Shows the state, the progress and the log of a job
    Job {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
        /// Answers at the end of the job, or after this time
        #[arg(long, value_name = "SECONDS", default_value = "0")]
        wait: u32,
    },
    /// Prints the result of a job, or writes it to a file
    Result {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
        /// The file of the result; - is standard output
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Cancels a job, and forgets it and its result
    Cancel {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Lists the requests that run, and the last slow ones
    Requests,
    /// Prints the metrics in the format of Prometheus
    Metrics,
}

/// Parameters, operand and result of what is computed.
#[derive(Debug, Args)]
pub(super) struct Computation {
    /// Parameters, as in op=t; async=1 makes it a job
    #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(super) parameters: Vec<(String, String)>,
    /// The .npy file of the operand
    #[arg(long, value_name = "FILE")]
    pub(super) operand: Option<PathBuf>,
    /// The file of the result; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) to: Option<PathBuf>,
    /// The .json file of the array on the GPU that is to have the result
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    pub(super) to_array: Option<PathBuf>,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is needed")?;
    Ok((key.into(), value.into()))
}
