// Runs a step of the lesson in its page, where the page is served from a folder inside of that of `app/package --web`.
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
  if (!(await fetch('../window.mjs', {method: 'HEAD'})).ok) return;
  for (const step of steps) {
    const button = document.createElement('button');
    button.textContent = 'Run this step here';
    button.onclick = () => run(step);
    step.append(button);
  }
}

if (steps.length && location.protocol.startsWith('http')) offer().catch(() => {});  // elsewhere the page is to be read
