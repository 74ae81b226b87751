// Runs a WebAssembly program with WASI under node: wasi.mjs PROGRAM.wasm. Its status is ours.
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1", args: process.argv.slice(2), returnOnExit: true });
// Called through a function of ours: node 20 crashes in its own short cut for these calls once the
// memory of the module has grown.
const imports = {};
for (const [name, call] of Object.entries(wasi.wasiImport))
	imports[name] = (...given) => call.apply(wasi.wasiImport, given);
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
// emscripten's libc asks for calls beside WASI's, of files; there are none: ENOSYS.
const env = {};
for (const { module: of, name } of WebAssembly.Module.imports(module))
	if (of === "env")
		env[name] = () => -52;
const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports, env });
process.exitCode = wasi.start(instance);
