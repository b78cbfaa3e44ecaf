//! Kernels and their launches behind a safe interface.

use crate::cache;
use crate::error::{backend_error, failed};
use crate::memory::CuMemory;
use crate::nvrtc::{Architecture, Source};
use crate::queue::Queue;
use crate::recording::Call;
use cudarc::driver::{result, sys};
use kernels_core::File;
use sparse_core::{Error, Result};
use sparse_device::{Arg, Defines, Grid};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

/// A compiled file.
#[derive(Debug)]
pub(crate) struct Module {
    module: sys::CUmodule,
    file: File,
    queue: Arc<Queue>,
}

// SAFETY: the handle is not changed after it was made, and the driver API may be called from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// A file's kernels: compiled ahead of time, cached on disk, or compiled now. An image or a file that does not
    /// load, such as PTX that is newer than the driver, is ignored.
    pub(crate) fn build(
        queue: &Arc<Queue>,
        architecture: Architecture,
        file: &File,
        defines: &Defines,
    ) -> Result<Self> {
        let image = kernels_cu::image(file.name, defines.iter());
        if let Some(module) = image.and_then(|image| Self::load(queue, file, image).ok()) {
            return Ok(module);
        }
        let source = Source::new(file, defines, architecture);
        if let Some(cubin) = cache::read(&source) {
            match Self::load(queue, file, &cubin) {
                Ok(module) => return Ok(module),
                Err(_) => cache::remove(&source),
            }
        }
        let cubin = source.compile()?;
        cache::write(&source, &cubin);
        Self::load(queue, file, &cubin)
    }

    fn load(queue: &Arc<Queue>, file: &File, image: &[u8]) -> Result<Self> {
        let _entered = queue.enter()?;
        // SAFETY: the image is a whole CUBIN or fatbin, whose header the library checks.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) };
        let module = module.map_err(failed("cuModuleLoadData"))?;
        Ok(Self { module, file: *file, queue: queue.clone() })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(_entered) = self.queue.enter() {
            // SAFETY: kernels of the module share its ownership, so none is left.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// Registers of a multiprocessor, of every architecture from sm_70 on.
const REGISTERS: usize = 1 << 16;

/// Registers of a thread are a multiple of this.
const REGISTER_UNIT: usize = 8;

/// Threads of a warp.
const LANES: usize = 32;

/// A kernel of a module.
#[derive(Debug)]
pub(crate) struct CuKernel {
    name: String,
    function: sys::CUfunction,
    /// The sizes of the parameters in bytes.
    parameters: Vec<usize>,
    /// The registers of a thread.
    registers: usize,
    module: Arc<Module>,
}

// SAFETY: the handle is not changed after it was made, and the driver API may be called from any thread.
unsafe impl Send for CuKernel {}
// SAFETY: as above.
unsafe impl Sync for CuKernel {}

impl CuKernel {
    /// The kernel of this name. Its launches may request dynamic shared memory up to `shared`, the most bytes of a
    /// block, less what it declares: the limit is set once, since two plans with limits of their own would overwrite
    /// each other's.
    pub(crate) fn new(module: &Arc<Module>, entry: &str, shared: usize) -> Result<Self> {
        let _entered = module.queue.enter()?;
        let name = CString::new(entry).map_err(backend_error)?;
        // SAFETY: the module is alive, and the kernel retains it.
        let function = unsafe { result::module::get_function(module.module, name) };
        let function = function.map_err(failed(format!("kernel {entry}")))?;
        allow_sharing(function, shared).map_err(failed(format!("shared memory of {entry}")))?;
        let count = module.file.parameters(entry).unwrap_or_default().len();
        let parameters =
            (0..count).map(|position| parameter_size(function, position)).collect::<Result<_>>()?;
        let registers = registers(function).map_err(failed(format!("registers of {entry}")))?;
        Ok(Self { name: entry.into(), function, parameters, registers, module: module.clone() })
    }

    /// The warps of blocks of 256 threads that the registers of a multiprocessor suffice for.
    pub(crate) fn warps_at_once(&self) -> usize {
        let of_block = self.registers.next_multiple_of(REGISTER_UNIT).max(1) * 8 * LANES;
        8 * (REGISTERS / of_block).max(1)
    }

    /// Sets the percentage of a multiprocessor's memory that launches of this kernel prefer to be shared memory.
    pub(crate) fn prefer_carveout(&self, percent: u8) -> Result<()> {
        let _entered = self.module.queue.enter()?;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        // SAFETY: the function is alive; the library refuses what is no percentage.
        let code = unsafe { sys::cuFuncSetAttribute(self.function, attribute, percent.into()) };
        code.result().map_err(failed(format!("carve-out of {}", self.name)))
    }

    /// A launch, as a recording lists it.
    pub(crate) fn call(&self, queue: &Queue, grid: Grid, args: &[Arg<'_>]) -> Result<Call> {
        let mut bytes = vec![];
        for arg in args {
            match arg {
                Arg::Memory(memory) => bytes.extend(CuMemory::of(memory, queue)?.pointer.to_ne_bytes()),
                Arg::Value(value) => bytes.extend(value.bytes()),
            }
        }
        Ok(Call::Launch { function: self.function.addr(), grid, args: bytes })
    }

    /// Enqueues it, as [`Driver::launch`](sparse_device::Driver::launch) says, for a grid that is not empty and
    /// arguments that were [checked](Self::check).
    ///
    /// # Safety
    /// As for [`Driver::launch`](sparse_device::Driver::launch).
    pub(crate) unsafe fn launch(&self, queue: &Queue, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        let mut pointers = Vec::with_capacity(args.len());
        for arg in args {
            pointers.push(pointer(queue, arg)?);
        }
        let _enqueues = queue.enqueue()?;
        let mut overlap = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid.groups as u32,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: grid.local as u32,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: grid.shared as u32,
            hStream: queue.stream,
            attrs: &raw mut overlap,
            numAttrs: u32::from(grid.early),
        };
        // SAFETY: the arguments have the number and the sizes of the parameters, as checked; they, the configuration
        // and its attribute are copied by the call. The caller vouches for what the kernel does with them; memory that
        // is freed later is freed in order with this stream. Kernels that are launched early wait before they touch
        // what the last launch does.
        let code = unsafe {
            sys::cuLaunchKernelEx(&raw const config, self.function, pointers.as_mut_ptr(), ptr::null_mut())
        };
        code.result().map_err(failed(&self.name))
    }

    /// An error unless the arguments have the number and sizes of the parameters.
    pub(crate) fn check(&self, args: &[Arg<'_>]) -> Result<()> {
        let sizes = args.iter().map(|arg| match arg {
            Arg::Memory(_) => size_of::<sys::CUdeviceptr>(),
            Arg::Value(value) => value.bytes().len(),
        });
        if sizes.clone().eq(self.parameters.iter().copied()) {
            return Ok(());
        }
        let sizes: Vec<_> = sizes.collect();
        let reason = format!("arguments of {sizes:?} bytes for {} of {:?}", self.name, self.parameters);
        Err(Error::unsupported("a launch", reason))
    }
}

/// Lets launches of a function request all of `shared` bytes that it does not declare itself.
fn allow_sharing(function: sys::CUfunction, shared: usize) -> Result<(), result::DriverError> {
    use sys::CUfunction_attribute as Attribute;
    let mut named = 0;
    // SAFETY: the function is alive, and the output is a live variable.
    unsafe {
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        sys::cuFuncGetAttribute(&raw mut named, attribute, function).result()?;
    }
    let left = i32::try_from(shared).unwrap_or(i32::MAX).saturating_sub(named).max(0);
    // SAFETY: as above; the library refuses more than the device has.
    unsafe {
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        sys::cuFuncSetAttribute(function, attribute, left).result()
    }
}

/// The registers of a thread.
fn registers(function: sys::CUfunction) -> Result<usize, result::DriverError> {
    let mut registers = 0;
    // SAFETY: the function is alive, and the output is a live variable.
    unsafe {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
        sys::cuFuncGetAttribute(&raw mut registers, attribute, function).result()?;
    }
    Ok(registers.max(0) as usize)
}

/// A pointer to the bytes of an argument.
fn pointer(queue: &Queue, arg: &Arg<'_>) -> Result<*mut c_void> {
    Ok(match arg {
        Arg::Memory(memory) => (&raw const CuMemory::of(memory, queue)?.pointer).cast_mut().cast(),
        Arg::Value(value) => value.bytes().as_ptr().cast_mut().cast(),
    })
}

/// The bytes of a parameter of a function.
fn parameter_size(function: sys::CUfunction, position: usize) -> Result<usize> {
    let (mut offset, mut size) = (0, 0);
    // SAFETY: the function is alive; the library refuses a position past the last parameter.
    let code = unsafe { sys::cuFuncGetParamInfo(function, position, &raw mut offset, &raw mut size) };
    code.result().map_err(failed("cuFuncGetParamInfo"))?;
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CUDA;
    use crate::cu::CuDriver;
    use device_tests::each_device;

    /// Every file with every set of defines that this backend can ask for.
    fn programs() -> impl Iterator<Item = (&'static File, Defines)> {
        let set = |all: Defines, (name, value)| all.set(name, value);
        kernels_cu::programs()
            .map(move |(file, variant)| (file, variant.into_iter().fold(Defines::default(), set)))
    }

    #[test]
    fn with_the_feature_every_program_has_an_image() {
        for (file, defines) in programs() {
            let image = kernels_cu::image(file.name, defines.iter());
            assert_eq!(image.is_some(), cfg!(feature = "aot"), "{} {defines}", file.name);
        }
    }

    #[test]
    fn every_image_loads_and_has_its_kernels() {
        each_device(&CUDA, |device| {
            let queue = device.driver_as::<CuDriver>().unwrap().queue();
            for (file, defines) in programs() {
                let Some(image) = kernels_cu::image(file.name, defines.iter()) else { continue };
                let module = Module::load(queue, file, image).map(Arc::new);
                let module = module.unwrap_or_else(|error| panic!("{} {defines}: {error}", file.name));
                for entry in file.entries {
                    let kernel =
                        CuKernel::new(&module, entry, device.driver().properties().shared_bytes).unwrap();
                    assert!(!kernel.parameters.is_empty(), "{entry} {defines}");
                }
            }
        });
    }
}
