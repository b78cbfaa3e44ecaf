//! The tests that every driver has to pass, on every OpenCL device that is here.

device_tests::tests!(&backend_opencl::OPENCL);
