// What the page is answered in a browser without a server: by Python in a worker, which is
// to a browser what a process is to the server. One job runs at a time, others wait.
"use strict";

// The answer to a job; rejected with a message for people where there is none. Until Python
// has come, `tell` is told so.
const answered = (() => {
  // Milliseconds in which a job may end that nobody waits for: about what a start takes.
  const PATIENCE = 5000;
  const setup = location.protocol === "file:"
    ? Promise.reject(new Error("its folder must be served, as by `python -m http.server`"))
    : fetch("setup.json").then((told) => told.json());

  let worker = null;
  let begun = null; // resolved when the worker can be asked
  let last = Promise.resolve(); // settled when all jobs so far are over

  async function done(job, what, signal, tell) {
    signal?.throwIfAborted();
    let waits = false;
    const waiting = setTimeout(() => {
      waits = true;
      tell("Python and the compiler are fetched and started …");
    }, 300);
    try {
      await (begun ?? start());
    } catch (error) {
      end();
      throw new Error(`Python has not started: ${error.message}`);
    } finally {
      clearTimeout(waiting);
    }
    signal?.throwIfAborted();
    if (waits) tell("Compiling …");
    return run(job, what, signal);
  }

  async function run(job, what, signal) {
    const { seconds, late, fell } = await setup;
    return new Promise((resolve) => {
      const over = (answer) => {
        clearTimeout(limit);
        clearTimeout(rest);
        signal?.removeEventListener("abort", hurry);
        resolve(answer);
      };
      const stop = (stopped) => {
        end();
        start().catch(() => {}); // the next job tries again, and tells
        over({ stopped });
      };
      const limit = setTimeout(stop, seconds * 1000, late);
      let rest = 0;
      const hurry = () => { rest = setTimeout(stop, PATIENCE, late); };
      signal?.addEventListener("abort", hurry);
      worker.onmessage = ({ data }) => ("answer" in data ? over(JSON.parse(data.answer)) : stop(fell));
      worker.postMessage({ job, body: JSON.stringify(what) });
    });
  }

  function start() {
    begun = setup.then((told) => new Promise((resolve, reject) => {
      worker = new Worker("python_worker.js", { type: "module" });
      worker.onmessage = ({ data }) => (data.failed ? reject(new Error(data.failed)) : resolve());
      worker.onerror = (error) => reject(new Error(error.message || "its worker does not load"));
      worker.postMessage(told);
    }));
    return begun;
  }

  function end() {
    worker?.terminate();
    worker = begun = null;
  }

  function aborted(signal) {
    return new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  }

  start().catch(() => {}); // before something is typed; whoever asks is told
  return (job, what, signal, tell = () => {}) => {
    const turn = last.then(() => done(job, what, signal, tell));
    last = turn.catch(() => {});
    return Promise.race([turn, aborted(signal)]);
  };
})();
