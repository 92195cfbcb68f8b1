// What the page is answered by the server of `tensorgen play`. In a browser without one,
// `answers_here.js` has its place.
"use strict";

// The answer to a job; rejected with a message for people where there is none.
async function answered(job, what, signal) {
  try {
    const answer = await fetch(`run/${job}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(what),
      signal,
    });
    return answer.ok ? await answer.json() : { stopped: await answer.text() };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`The server does not answer: is it still running? (${error.message})`);
  }
}
