# A toolchain for 64-bit Arm: Debian's gcc-aarch64-linux-gnu; qemu-user-static runs what it makes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# Nothing is reserved that is not used: qemu keeps records of each page (10 GB of them for a run's 43 GB).
set(CMAKE_C_FLAGS_INIT -DRS_NO_RESERVE)
