//! The tests that every driver has to pass, on every CUDA device that is here.

device_tests::tests!(&backend_cuda::CUDA);
