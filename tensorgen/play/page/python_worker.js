// Python with the compiler, in a worker: it is first sent what to load, then jobs.

let answer = null;

onmessage = async ({ data }) => {
  if (answer) return reply(data);
  try {
    answer = await load(data);
    postMessage({ ready: true });
  } catch (error) {
    postMessage({ failed: String(error.message ?? error) });
  }
};

function reply({ job, body }) {
  try {
    postMessage({ answer: answer(job, body) });
  } catch (error) { // of a fault of Python itself, such as of its memory, nothing recovers
    postMessage({ fell: String(error) });
  }
}

async function load({ runtime, packages, archive }) {
  const indexURL = new URL(runtime, location.href).href;
  const compiler = fetch(archive);
  compiler.catch(() => {}); // it is awaited below
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  const python = await loadPyodide({ indexURL, packages });
  const folder = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  const told = await compiler;
  if (!told.ok) throw new Error(`${archive}: ${told.status}`);
  python.unpackArchive(await told.arrayBuffer(), "zip", { extractDir: folder });
  return python.pyimport("tensorgen.play.in_browser").answer;
}
