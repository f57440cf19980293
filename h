Usage: ndr build [OPTION...] FILE
Compiles a file of OpenCL C (or .spv, or a driver's .bin), and shows its
kernels: parameters, memory, sizes of groups, and the compiler's log.

  -d, --device=TEXT          A type (gpu, cpu, accelerator), an index, or part
                             of a name; instead of NDR_DEVICE
      --json                 Print JSON
      --save=FILE            Write the driver's binary, which `ndr run
                             FILE.bin` and ndr_kernel_desc.binary take on the
                             same device with the same driver
  -b, --build-options=TEXT   Other options of the compiler
  -D, --define=NAME[=TEXT]   Define a macro
  -I, --include=FOLDER       Search included files in FOLDER
  -?, --help                 Give this help list
      --usage                Give a short usage message

Mandatory or optional arguments to long options are also mandatory or optional
for any corresponding short options.
