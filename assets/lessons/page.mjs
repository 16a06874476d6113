// Runs a step of the lesson in its page, where the page is served from a folder inside of that of `app/package --web`.
const chosen = 'attoscope.step';
const steps = [...document.querySelectorAll('section[data-session]')];
let frame;

function run(step) {
  frame?.remove();
  frame = document.createElement('iframe');
  frame.src = '../index.html#session=' + step.dataset.session;
  frame.title = step.querySelector('h2').textContent;
  step.append(frame);
  frame.scrollIntoView({block: 'nearest'});
}

async function offer() {
  const {isolated} = await import('../isolation.mjs');
  for (const [i, step] of steps.entries()) {
    const button = document.createElement('button');
    button.textContent = 'Run this step here';
    button.onclick = async () => {
      sessionStorage.setItem(chosen, i);  // the first one may reload the page
      await isolated();
      sessionStorage.removeItem(chosen);
      run(step);
    };
    step.append(button);
  }
  const last = sessionStorage.getItem(chosen);
  if (last === null) return;
  sessionStorage.removeItem(chosen);
  if (steps[last]) run(steps[last]);
}

if (steps.length && location.protocol.startsWith('http')) offer().catch(() => {});  // elsewhere the page is to be read
