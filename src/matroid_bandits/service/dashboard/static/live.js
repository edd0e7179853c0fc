// Numbers that move by themselves: the stream of one campaign, and work that follows it at a fitting pace.

import { root } from "./api.js";
import { setText } from "./dom.js";

const WORDS = { live: "Live", waiting: "Connecting", lost: "Reconnecting", idle: "" };

/** Say in the bar at the top how the page stands with the server. */
export function showState(state) {
  const place = document.getElementById("live");
  if (!place) return;
  place.dataset.state = state;
  setText(place, WORDS[state]);
}

/** Follow server-sent events under `path`; `handlers` by the event's name. It comes back after every loss, and rests
 * while the tab is hidden: a browser gives a server six connections, and hidden tabs would take them. */
export function follow(path, handlers) {
  let source = null;
  let timer = 0;
  let failures = 0;
  const leave = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const again = (state) => {
    leave();
    showState(state);
    timer = setTimeout(join, Math.min(10_000, 500 * 2 ** Math.min(failures++, 5)));
  };
  const join = () => {
    leave();
    if (document.hidden) return;
    showState(failures ? "lost" : "waiting");
    source = new EventSource(root + path);
    source.onopen = () => {
      failures = 0;
      showState("live");
      handlers.open?.();
    };
    source.onerror = () => {
      again("lost");
      handlers.lost?.();
    };
    source.addEventListener("end", () => again("lost"));
    for (const [name, handle] of Object.entries(handlers)) {
      if (name === "open" || name === "lost") continue;
      source.addEventListener(name, (event) => {
        let data;
        try {
          data = JSON.parse(event.data);
        } catch {
          return;
        }
        handle(data);
      });
    }
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : join()));
  addEventListener("pagehide", leave);
  join();
}

/** A task that is asked for often and runs rarely: one at a time, `pause()` ms apart, and at most a fifth of the time. */
export function paced(task, pause) {
  let isRunning = false;
  let isWanted = false;
  const run = async () => {
    isRunning = true;
    isWanted = false;
    const start = performance.now();
    try {
      await task();
    } finally {
      const spent = performance.now() - start;
      setTimeout(
        () => {
          isRunning = false;
          if (isWanted && !document.hidden) run();
        },
        Math.max(pause(), 4 * spent),
      );
    }
  };
  return () => {
    isWanted = true;
    if (!isRunning) run();
  };
}
