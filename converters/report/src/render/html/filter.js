  // Filters: one thread, one lock, a text, a span of time, and durations of waits. They
  // act on all parts at once, and the address has them, so that a filtered page can be
  // sent to somebody and the browser's button brings the one before back.
  const search = id('search');
  const found = id('found');
  const choices = { thread: id('by-thread'), lock: id('by-lock') };
  const chips = { time: id('by-time'), took: id('by-took') };
  const state = { thread: '', lock: '', text: '', time: '', took: '' };

  // `time=1.2..3.4` are seconds after the start, `took=1024..4096` nanoseconds. They are
  // kept as the boxes and the powers of two that they are in.
  const ends = text => text.split('..').map(Number);
  // What is next to a step is on it.
  const NEAR = 1e-6;
  const steps = ([from, to], least, most) => {
    const range = [Math.max(least, Math.floor(from + NEAR)), Math.min(most, Math.ceil(to - NEAR) - 1)];
    return range[0] <= range[1] ? range : null;
  };
  const spanData = id('span-data') && JSON.parse(id('span-data').textContent);
  const boxesOf = text => spanData && text
    && steps(ends(text).map(seconds => seconds * 1e9 / spanData.box_ns), 0, spanData.lived.length - 1) || null;
  const powersOf = text => text && steps(ends(text).map(Math.log2), LEAST_POWER, 62) || null;
  const timeOf = boxes => (boxes ? boxes[0] * spanData.box_ns / 1e9 + '..' + (boxes[1] + 1) * spanData.box_ns / 1e9 : '');
  const tookOf = powers => (powers ? 2 ** powers[0] + '..' + 2 ** (powers[1] + 1) : '');
  const span = spanData && makeSpan(spanData, (boxes, replaces) => {
    state.time = timeOf(boxes);
    changed('', replaces);
  });
  const heatData = id('heat-data');
  const heat = heatData && makeHeat(JSON.parse(heatData.textContent), (boxes, powers, replaces) => {
    state.time = timeOf(boxes);
    state.took = tookOf(powers);
    changed('', replaces);
  });
  // Locks that nobody waited for in what is chosen, as far as they are told apart.
  let leftOut = new Set();

  const inName = /[\p{L}\p{N}_$.]/u;
  function mentions(text, name) {
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
      const [before, after] = [text[at - 1] || ' ', text[at + name.length] || ' '];
      if (!inName.test(before) && !inName.test(after)) return true;
    }
    return false;
  }
  // Groups of threads are named with a star or nothing where these have numbers.
  const digits = /\d+/g;
  const pattern = name => name.replace(digits, '').replace(/\*/g, '');
  const isOf = (cell, thread) => cell === thread || pattern(cell) === pattern(thread)
    && (!/\d/.test(cell) || cell.includes('*'));

  // Which locks each thread has to do with, and the other way round.
  const pairs = new Map();
  for (const graph of graphs) {
    for (const { thread, lock, sum } of graph.rows) {
      if (!lock || !sum) continue;
      if (!pairs.has(thread)) pairs.set(thread, new Set());
      pairs.get(thread).add(plainLock(lock));
    }
  }
  function options(key, plain) {
    const sums = new Map();
    for (const graph of graphs) {
      for (const row of graph.rows) {
        const name = plain(row[key]);
        if (name) sums.set(name, (sums.get(name) || 0) + row.sum);
      }
    }
    const names = [...sums.keys()].sort(collator.compare);
    choices[key].append(...names.map(name => new Option(name, name)));
    choices[key].parentElement.hidden = names.length === 0;
    return names;
  }
  const known = { thread: options('thread', name => name), lock: options('lock', plainLock) };

  // What a row says of threads and locks, by the headings of its columns.
  let texts = null;
  const hasText = (at, text) => {
    texts = texts || bodies.map(body => body.textContent.toLowerCase());
    return texts[at].includes(text);
  };
  const columnsOf = (table, what) => [...table.tHead.rows[0].cells]
    .flatMap((head, at) => (head.dataset.of === what ? [at] : []));
  const about = tables.flatMap(table => {
    const columns = ['thread', 'lock'].map(what => columnsOf(table, what));
    return [...table.tBodies].map(body => {
      const [threads, locks] = columns.map(ats => ats.map(at => body.rows[0].cells[at])
        .map(cell => cell.dataset.lock || cell.textContent.trim()));
      return { threads, locks: locks.map(plainLock) };
    });
  });
  const isOfAll = tables.map(table => ['thread', 'lock'].every(what => !columnsOf(table, what).length));
  const users = new Map();
  function usersOf(lock) {
    const own = () => [...pairs].filter(([, own]) => own.has(lock)).map(([thread]) => thread);
    if (!users.has(lock)) users.set(lock, own());
    return users.get(lock);
  }
  const concernsThread = ({ threads, locks }, thread) => {
    if (threads.length) return threads.some(cell => isOf(cell, thread));
    const own = [...(pairs.get(thread) || [])];
    return locks.some(cell => own.some(lock => mentions(cell, lock)));
  };
  const concernsLock = ({ threads, locks }, lock) => {
    if (locks.length) return locks.some(cell => mentions(cell, lock));
    return threads.some(cell => usersOf(lock).some(thread => isOf(cell, thread)));
  };
  function passes(row) {
    if (!row.threads.length && !row.locks.length) return true;
    const isOut = cell => [...leftOut].some(lock => mentions(cell, lock));
    if (leftOut.size && row.locks.length && row.locks.every(isOut)) return false;
    return (!state.thread || concernsThread(row, state.thread))
      && (!state.lock || concernsLock(row, state.lock));
  }

  // Frames of trees stay with what they stand in and what they call.
  const names = frames.map(frame => {
    const line = frame.tagName === 'DETAILS' ? frame.firstElementChild : frame;
    return line.querySelector('.name').textContent;
  });
  const trees = all('.tree');
  const members = trees.map(tree => tree.querySelector('h3').textContent);
  let before = null;
  function prune(text) {
    const narrows = text || state.lock || state.thread;
    if (narrows && !before) before = folders.map(frame => frame.open);
    const [hits, leading, below] = [new Set(), new Set(), new Set()];
    frames.forEach((frame, at) => {
      const parent = frame.parentElement;
      if (below.has(parent) || hits.has(parent)) below.add(frame);
      const isHit = names[at].toLowerCase().includes(text)
        && (!state.lock || mentions(plainLock(names[at]), state.lock));
      if (!isHit) return;
      hits.add(frame);
      for (let up = parent; up.classList.contains('frame') && !leading.has(up); up = up.parentElement) {
        leading.add(up);
      }
    });
    for (const frame of frames) {
      frame.hidden = !(hits.has(frame) || leading.has(frame) || below.has(frame));
    }
    trees.forEach((tree, at) => {
      const isOther = state.thread && !mentions(members[at], state.thread);
      tree.hidden = isOther || narrows && ![...tree.querySelectorAll('.frame')].some(it => !it.hidden);
    });
    if (narrows) folders.forEach(frame => { if (leading.has(frame)) frame.open = true; });
    else if (before) {
      folders.forEach((frame, at) => { frame.open = before[at]; });
      before = null;
    }
    return [...hits].filter(frame => !frame.closest('.tree').hidden).length;
  }

  // The first screen: names of locks, and areas of the picture.
  const links = all('a.of-lock');
  const picked = all('path[data-lock]');
  const isChosen = name => Boolean(state.lock) && mentions(plainLock(name), state.lock);
  // The same lock again is all of them again.
  function pick(name) {
    state.lock = isChosen(name) ? '' : named('lock', plainLock(name));
    choices.lock.value = state.lock;
    changed('', false);
  }
  for (const link of links) {
    link.addEventListener('click', event => {
      event.preventDefault();
      pick(link.dataset.lock);
    });
  }
  for (const path of picked) path.addEventListener('click', () => pick(path.dataset.lock));
  if (heat) {
    heat.list.addEventListener('click', event => {
      const button = event.target.closest('[data-lock]');
      if (button) pick(button.dataset.lock);
    });
  }

  // A button for each of the two, which takes it away.
  function tellChosen(boxes, powers) {
    const words = { time: boxes && span.spanOf(boxes), took: powers && bounds(...powers) };
    for (const [key, chip] of Object.entries(chips)) {
      chip.hidden = !words[key];
      const name = key === 'time' ? 'Time ' : 'Waits of ';
      chip.textContent = words[key] ? name + words[key] + ' ×' : '';
      chip.setAttribute('aria-label', name + (words[key] || '') + ', show all');
    }
  }
  const timedOnes = '.timeline, .worst, [data-after]';
  // What of the page knows no times, or no durations, says so.
  const untimed = all('.scroll, dl, .picture, .tree, .graph, .verdict.first, section > p:not([class])')
    .filter(it => !it.matches('.shares') && !it.querySelector(timedOnes));
  const timed = all('.scroll').filter(it => it.querySelector(timedOnes));
  function tellWhole(boxes, powers) {
    for (const it of untimed) it.classList.toggle('of-run', Boolean(boxes || powers));
    for (const it of timed) {
      it.classList.toggle('of-any', Boolean(powers));
      it.classList.toggle('of-span', Boolean(boxes));
    }
  }

  function apply() {
    const text = state.text.trim().toLowerCase();
    const [boxes, powers] = [boxesOf(state.time), powersOf(state.took)];
    const isPart = Boolean(boxes || powers);
    if (heat) leftOut = heat.leftOut(boxes, powers);
    if (!isPart) leftOut = new Set();
    if (span) span.show(boxes);
    tellChosen(boxes, powers);
    tellWhole(boxes, powers);
    let count = frames.length ? prune(text) : 0;
    bodies.forEach((body, at) => {
      const hit = (!text || hasText(at, text)) && passes(about[at]) && !(span && span.empty.has(body));
      body.hidden = !hit;
      count += hit;
    });
    const chosen = state.thread || state.lock;
    tables.forEach((table, at) => {
      table.parentElement.classList.toggle('empty', [...table.tBodies].every(body => body.hidden));
      table.parentElement.classList.toggle('of-all', Boolean(chosen) && isOfAll[at]);
      showSteps(table);
    });
    for (const list of all('dl, .picture')) list.classList.toggle('of-all', Boolean(chosen));
    const total = bodies.length + frames.length;
    found.textContent = text || chosen || isPart ? count + ' of ' + total + ' rows' : '';
    document.documentElement.classList.toggle('filtered', Boolean(text || chosen || isPart));
    document.documentElement.classList.toggle('by-lock', Boolean(state.lock));
    for (const path of picked) path.classList.toggle('other', state.lock && !isChosen(path.dataset.lock));
    for (const link of links) {
      if (isChosen(link.dataset.lock)) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    if (heat) heat.show(label => !state.lock || isChosen(label), state.lock);
    for (const graph of graphs) graph.show(state.thread, state.lock, text, leftOut);
  }

  // The address: #contended, or #thread=main&lock=Cache.map&text=get&at=contended.
  function written(at) {
    const parts = Object.entries(state).filter(([, value]) => value);
    if (!parts.length) return at ? '#' + at : location.pathname + location.search;
    if (at) parts.push(['at', at]);
    return '#' + parts.map(pair => pair.map(encodeURIComponent).join('=')).join('&');
  }
  function decoded(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }
  // Whoever writes an address by hand may give a part of a name.
  const named = (key, value) => value && (known[key].find(name => name === value)
    || known[key].find(name => name.includes(value)) || '');
  function read() {
    const hash = location.hash.slice(1);
    const parts = new Map(hash.split('&').filter(part => part.includes('='))
      .map(part => part.split('=').map(decoded)));
    state.thread = named('thread', parts.get('thread') || '');
    state.lock = named('lock', plainLock(parts.get('lock') || ''));
    state.text = parts.get('text') || '';
    state.time = timeOf(boxesOf(parts.get('time') || ''));
    state.took = heat ? tookOf(powersOf(parts.get('took') || '')) : '';
    choices.thread.value = state.thread;
    choices.lock.value = state.lock;
    search.value = state.text;
    apply();
    const target = parts.get('at') || (hash.includes('=') ? '' : decoded(hash));
    const section = target && id(target);
    if (section) section.scrollIntoView();
  }
  function changed(at, replaces) {
    const to = written(at);
    if (replaces) history.replaceState(null, '', to);
    else history.pushState(null, '', to);
    apply();
  }
  for (const key of ['thread', 'lock']) {
    choices[key].addEventListener('change', () => {
      state[key] = choices[key].value;
      changed('', false);
    });
  }
  for (const [key, chip] of Object.entries(chips)) {
    chip.addEventListener('click', () => {
      state[key] = '';
      changed('', false);
      search.focus();
    });
  }
  search.addEventListener('input', () => {
    // One step back takes all of a text away, not a letter of it.
    const replaces = Boolean(state.text && search.value.trim());
    state.text = search.value;
    changed('', replaces);
  });
  search.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !search.value) return;
    search.value = '';
    search.dispatchEvent(new Event('input'));
  });
  id('reset').addEventListener('click', () => {
    Object.assign(state, { thread: '', lock: '', text: '', time: '', took: '' });
    choices.thread.value = choices.lock.value = search.value = '';
    changed('', false);
    search.focus();
  });
  for (const link of all('nav a, .skip')) {
    link.addEventListener('click', event => {
      const at = link.getAttribute('href').slice(1);
      if (!Object.values(state).some(Boolean)) return;
      event.preventDefault();
      history.pushState(null, '', written(at));
      id(at).scrollIntoView();
      id(at).focus({ preventScroll: true });
    });
  }
  addEventListener('popstate', read);
  addEventListener('hashchange', read);
  read();
