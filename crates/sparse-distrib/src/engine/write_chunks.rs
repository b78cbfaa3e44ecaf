//! Writing the chunks of a slot on several threads.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `write` with every chunk of `len` elements and its position, on up to `threads` threads. After an error no
/// further chunk is begun; the error is that of the first chunk that failed.
pub(super) fn write_chunks<T: Send, E: Send>(
    elements: &mut [T],
    len: usize,
    threads: usize,
    write: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let threads = threads.min(elements.len().div_ceil(len.max(1)));
    let mut chunks = elements.chunks_mut(len.max(1)).enumerate();
    if threads <= 1 {
        return chunks.try_for_each(|(position, chunk)| write(position, chunk));
    }
    let chunks = Mutex::new(chunks);
    let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<(), (usize, E)> {
        while let Some((position, chunk)) = next() {
            if let Err(error) = write(position, chunk) {
                while next().is_some() {}
                return Err((position, error));
            }
        }
        Ok(())
    };
    let results: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        others.chain([own]).collect()
    });
    let first = results.into_iter().filter_map(Result::err).min_by_key(|&(position, _)| position);
    first.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn every_chunk_is_written_once_whatever_the_number_of_threads() {
        for (len, threads) in [(1, 1), (1, 3), (3, 4), (7, 2), (100, 8)] {
            let mut elements = [0; 20];
            let number = |position: usize, chunk: &mut [usize]| {
                chunk.iter_mut().enumerate().for_each(|(k, element)| *element += position * len + k);
                Ok::<(), ()>(())
            };
            write_chunks(&mut elements, len, threads, number).unwrap();
            assert!(elements.into_iter().eq(0..20), "{len} {threads}");
        }
        write_chunks(&mut [0; 0], 0, 4, |_, _| Err(())).unwrap();
    }

    #[test]
    fn an_error_ends_the_work_and_a_panic_goes_on() {
        for threads in [1, 4] {
            let fail = |position, _: &mut [u8]| if position < 5 { Ok(()) } else { Err(position) };
            assert_eq!(write_chunks(&mut [0; 100], 1, threads, fail), Err(5));
            let panics =
                || write_chunks(&mut [0; 100], 1, threads, |_, _| -> Result<(), ()> { panic!("planned") });
            assert!(catch_unwind(panics).is_err());
        }
    }
}
