//! Products with matrices in parts: each worker multiplies its rows, and the results follow one another in the answer.

use super::device_workers::DeviceWorkers;
use super::dispatch::content_length;
use super::distributed::{DistributedMatrix, Part, needs_whole};
use crate::operation_requests::array_reception;
use crate::operations::{MemberSelection, Operation};
use crate::problem::Problem;
use crate::request::media::NPY;
use crate::request::parameters::Parameters;
use crate::security::auth::Identity;
use crate::upload::{RESULT_ARRAY, Received, is_on_device};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use nnz::io::npy;
use nnz::op::Op;
use nnz::{DType, Order, with_dtype};
use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::io::ReaderStream;

/// Bytes of an operand's file that are read at once.
const FILE_PART: usize = 1 << 20;
/// Chunks of an answer that wait for the client.
const CHUNKS: usize = 4;

/// The operand of a product, which goes to every worker.
enum OperandBody {
    Memory(Bytes),
    File(tempfile::NamedTempFile),
}

/// The shape, order and type of a result, from which the bytes of each part follow.
struct Layout {
    shape: Vec<usize>,
    order: Order,
    dtype: DType,
}

impl DeviceWorkers {
    /// Multiplies a matrix in parts with an array.
    pub(super) async fn multiply_parts(
        self: &Arc<Self>,
        matrix: &Arc<DistributedMatrix>,
        operation: &'static Operation,
        parameters: &Parameters,
        identity: Identity,
        request: Request,
    ) -> Result<Response, Problem> {
        if !matches!(operation.name, "spmv" | "spmm") {
            return Err(needs_whole(matrix));
        }
        let (head, body) = request.into_parts();
        let takes = parameters.check_known(&["op", "alpha", "timeout"]);
        takes.map_err(|problem| problem.within(&format!("`{}` is in parts", matrix.label())))?;
        if parameters.op()? != Op::None
            || is_on_device(&head.headers)
            || head.headers.contains_key(RESULT_ARRAY)
        {
            let detail = "a matrix in parts is multiplied by arrays of the host, and not transposed";
            return Err(Problem::unprocessable(detail));
        }
        matrix.check_there()?;
        let reception =
            array_reception((&self.limits, &self.bodies), (&identity.tenant, operation.name), &head.headers)?;
        let received = reception.receive_inflated(body).await?;
        let npy::Layout { shape, order, .. } = received.layout()?;
        operation.operand.check(operation.name, &shape, MemberSelection::Whole)?;
        let layout = Layout::of_product(matrix, &shape, order)?;
        let operand = Arc::new(OperandBody::of(received));
        let mut products = vec![];
        let query = head.uri.query().unwrap_or_default();
        let path = format!("/v1/matrices/{}/{}?{query}", matrix.name, operation.name);
        let ask = |part: &Part| {
            self.clone().multiply_part(
                (part.device, part.copy.number),
                (&matrix.name, &path),
                &operand,
                (&identity, &head.headers),
            )
        };
        for answer in in_order(matrix.parts.iter().map(ask)).await? {
            if answer.status() != StatusCode::OK {
                // It may be that a worker has ended since.
                return matrix.check_there().map(|()| answer);
            }
            products.push(answer);
        }
        layout.respond(matrix, products)
    }

    /// The product of a part, by its worker.
    fn multiply_part(
        self: Arc<Self>,
        (device, number): (usize, u64),
        (name, path): (&str, &str),
        operand: &Arc<OperandBody>,
        (identity, headers): (&Identity, &HeaderMap),
    ) -> impl Future<Output = Result<Response, Problem>> + Send + use<> {
        let mut identity = identity.clone();
        identity.copies = BTreeMap::from([(name.to_owned(), number)]);
        let (path, operand, accept) =
            (path.to_owned(), operand.clone(), headers.get(header::ACCEPT).cloned());
        async move {
            let mut request = operand.request(&path)?;
            accept.into_iter().for_each(|accept| drop(request.headers_mut().insert(header::ACCEPT, accept)));
            self.send(device, &mut identity, request).await
        }
    }
}

/// The results of tasks that run at once, in their order.
async fn in_order<T: Send + 'static>(
    tasks: impl Iterator<Item = impl Future<Output = Result<T, Problem>> + Send + 'static>,
) -> Result<Vec<T>, Problem> {
    let mut running = JoinSet::new();
    for (index, task) in tasks.enumerate() {
        running.spawn(async move { (index, task.await) });
    }
    let mut results = BTreeMap::new();
    while let Some(joined) = running.join_next().await {
        let (index, result) = joined.map_err(Problem::internal)?;
        results.insert(index, result?);
    }
    Ok(results.into_values().collect())
}

impl OperandBody {
    fn of(received: Received) -> Self {
        match received {
            Received::Memory(bytes) => Self::Memory(Bytes::from_owner(bytes)),
            Received::File(file) => Self::File(file),
        }
    }

    /// A POST request with the operand as its body.
    fn request(&self, path: &str) -> Result<Request, Problem> {
        let (body, length) = match self {
            Self::Memory(bytes) => (Body::from(bytes.clone()), bytes.len() as u64),
            Self::File(file) => {
                let file = File::open(file.path())?;
                let length = file.metadata()?.len();
                let parts = ReaderStream::with_capacity(tokio::fs::File::from_std(file), FILE_PART);
                (Body::from_stream(parts), length)
            }
        };
        let request =
            Request::post(path).header(header::CONTENT_TYPE, NPY).header(header::CONTENT_LENGTH, length);
        request.body(body).map_err(Problem::internal)
    }
}

impl Layout {
    /// The result of `A·x`, which has as many dimensions as x, in its order.
    fn of_product(matrix: &DistributedMatrix, operand: &[usize], order: Order) -> Result<Self, Problem> {
        let columns = operand.get(1).copied();
        let shape = [Some(matrix.rows()), columns].into_iter().flatten().collect();
        let dtype = matrix.parts[0].description.dtype.parse().map_err(Problem::internal)?;
        Ok(Self { shape, order, dtype })
    }

    /// The times that each part has rows in the result: once, or for each column of one that is stored by columns.
    fn blocks(&self) -> usize {
        match (self.order, self.shape.get(1)) {
            (Order::ColMajor, Some(&columns)) => columns,
            _ => 1,
        }
    }

    /// Bytes of a row in a block.
    fn row_bytes(&self) -> usize {
        let columns = if self.order == Order::RowMajor { self.shape.get(1).copied().unwrap_or(1) } else { 1 };
        columns.saturating_mul(self.dtype.bytes())
    }

    /// The header of an array of `rows` rows of the result.
    fn header(&self, rows: usize) -> Result<Vec<u8>, Problem> {
        let shape: Vec<_> = [rows].iter().chain(self.shape.get(1)).copied().collect();
        Ok(with_dtype!(self.dtype, T => npy::header::<T>(&shape, self.order))?)
    }

    /// The products of all parts as one array.
    fn respond(&self, matrix: &DistributedMatrix, products: Vec<Response>) -> Result<Response, Problem> {
        let head = Bytes::from(self.header(matrix.rows())?);
        let (blocks, row_bytes) = (self.blocks(), self.row_bytes());
        let data_bytes = matrix.rows().saturating_mul(row_bytes).saturating_mul(blocks);
        let length = head.len().saturating_add(data_bytes);
        let (chunks, stream) = channel(CHUNKS);
        let mut parts = vec![];
        for (part, product) in matrix.parts.iter().zip(products) {
            let block_bytes = part.rows.len().saturating_mul(row_bytes);
            parts.push(PartBody::of(product, self.header(part.rows.len())?, (block_bytes, blocks))?);
        }
        tokio::spawn(async move {
            if chunks.send(Ok(head)).await.is_err() {
                return;
            }
            if let Err(error) = send_blocks(parts, blocks, &chunks).await {
                // A client that is gone does not hear of it.
                let _ = chunks.send(Err(error)).await;
            }
        });
        let media = (header::CONTENT_TYPE, HeaderValue::from_static(NPY));
        let body = Body::from_stream(ReceiverStream::new(stream));
        Ok(([media, (header::CONTENT_LENGTH, length.into())], body).into_response())
    }
}

/// Sends the blocks of all parts in turn.
async fn send_blocks(
    mut parts: Vec<PartBody>,
    blocks: usize,
    chunks: &Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    for part in &mut parts {
        part.skip_header().await?;
    }
    for _ in 0..blocks {
        for part in &mut parts {
            let mut left = part.block_bytes;
            while left > 0 {
                let chunk = part.next(left).await?;
                left -= chunk.len();
                if chunks.send(Ok(chunk)).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// The result of a part, as it comes.
struct PartBody {
    body: Body,
    /// Bytes of the body that arrived and were not passed on yet.
    buffered: Bytes,
    /// The bytes in front of the elements.
    header: Vec<u8>,
    block_bytes: usize,
}

impl PartBody {
    /// The body of a product that begins with this header. Fails if it is not as long as the header and its blocks.
    fn of(
        product: Response,
        header: Vec<u8>,
        (block_bytes, blocks): (usize, usize),
    ) -> Result<Self, Problem> {
        let expected = block_bytes.checked_mul(blocks).and_then(|data| data.checked_add(header.len()));
        let found = content_length(product.headers());
        if expected.is_none_or(|expected| found != Some(expected as u64)) {
            let detail = format!("the product of a part has {found:?} bytes where {expected:?} are right");
            return Err(Problem::internal(detail));
        }
        Ok(Self { body: product.into_body(), buffered: Bytes::new(), header, block_bytes })
    }

    /// Reads the header; fails if it is another one.
    async fn skip_header(&mut self) -> io::Result<()> {
        let expected = std::mem::take(&mut self.header);
        let mut left = &expected[..];
        while !left.is_empty() {
            let found = self.next(left.len()).await?;
            left = left.strip_prefix(&*found).ok_or(ErrorKind::InvalidData)?;
        }
        Ok(())
    }

    /// The next bytes, from one up to `most`.
    async fn next(&mut self, most: usize) -> io::Result<Bytes> {
        while self.buffered.is_empty() {
            let frame = self.body.frame().await.ok_or(ErrorKind::UnexpectedEof)?;
            if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                self.buffered = data;
            }
        }
        Ok(self.buffered.split_to(most.min(self.buffered.len())))
    }
}
