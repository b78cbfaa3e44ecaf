//! The requests of the command line and their arguments.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Request {
    /// Shows the devices and their memory
    Status,
    /// Lists the matrices
    List {
        /// Lists only matrices with these labels, as in project=pde,run
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
        /// File to upload: .mtx, .mtx.gz, .npz or .npy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The name of the matrix
        #[arg(value_name = "NAME")]
        name: String,
        /// Parameters of the upload: durable=1 preserves it across restarts, parts=2 divides its rows among two devices
        #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
        parameters: Vec<(String, String)>,
        /// Resumes the upload when the connection breaks
        #[arg(long)]
        resumable: bool,
        /// Resumes the interrupted upload of this id
        #[arg(long, value_name = "ID")]
        upload: Option<String>,
    },
    /// Writes a matrix to a file
    #[command(override_usage = "nnz client --server <URL> get [OPTIONS] --out <FILE> <NAME>")]
    Get {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// File to write: .mtx, .npz or .npy; - is stdout, as .mtx
        #[arg(short = 'o', long = "out", value_name = "FILE", required_unless_present = "last")]
        out: Option<PathBuf>,
        /// The file to write, without `-o`
        #[arg(value_name = "FILE", hide = true, conflicts_with = "out")]
        last: Option<PathBuf>,
    },
    /// Deletes all versions of a matrix, or one
    Delete {
        /// NAME for all of its versions, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Pins a matrix in the device's memory
    Pin {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Unpins a matrix, so that it can be evicted from the device's memory
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
    /// Creates an alias of a matrix, or moves it to another matrix
    Alias {
        /// The name of the alias
        #[arg(value_name = "ALIAS")]
        alias: String,
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// durable=1 preserves it across restarts
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
        /// File of the steps, a list in JSON
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
        /// Waits for the end of the job, at most this time
        #[arg(long, value_name = "SECONDS", default_value = "0")]
        wait: u32,
    },
    /// Prints the result of a job or writes it to a file
    Result {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
        /// File to write the result to; - is stdout
        #[arg(short = 'o', long = "out", alias = "to", value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Cancels a job and deletes its result
    Cancel {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Lists the running requests and the latest slow ones
    Requests,
    /// Prints the metrics in the format of Prometheus
    Metrics,
}

/// Parameters, operand and result of what is computed.
#[derive(Debug, Args)]
pub(super) struct Computation {
    /// Parameters, as in op=t; async=1 runs it as a job
    #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(super) parameters: Vec<(String, String)>,
    /// The .npy file of the operand
    #[arg(long, value_name = "FILE")]
    pub(super) operand: Option<PathBuf>,
    /// File to write the result to; - is stdout
    #[arg(short = 'o', long = "out", alias = "to", value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// The .json file that names an array on the GPU to write the result to
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub(super) to_array: Option<PathBuf>,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is needed")?;
    Ok((key.into(), value.into()))
}
