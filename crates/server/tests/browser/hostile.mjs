// Texts that try to become code in a browser. Each calls `pwned()`, opens a dialog, or fetches from another
// host, if any part of it is ever taken for more than text.

const CALL = 'window.pwned=1;alert(1)';
const HOST = 'http://127.0.0.1:9';

/** More than sixty attempts, by where they would break out. */
export const ATTEMPTS = [
  // Elements that run a script.
  `<script>${CALL}</script>`,
  `<SCRIPT SRC=${HOST}/x.js></SCRIPT>`,
  `<scr<script>ipt>${CALL}</scr</script>ipt>`,
  `<script\t>${CALL}</script\n>`,
  `<script/x>${CALL}</script/x>`,
  `<script type="module">${CALL}</script>`,
  `<svg><script>${CALL}</script></svg>`,
  `<svg><script href="${HOST}/x.js"/></svg>`,
  `<math><mtext><script>${CALL}</script></mtext></math>`,
  `<noscript><p title="</noscript><script>${CALL}</script>">`,
  // Ends of places a text may be put into.
  `</title><script>${CALL}</script>`,
  `</textarea><script>${CALL}</script>`,
  `</style><script>${CALL}</script>`,
  `</script><script>${CALL}</script>`,
  `--><script>${CALL}</script><!--`,
  `]]><script>${CALL}</script>`,
  `</option></select><img src=x onerror="${CALL}">`,
  `</summary></details><img src=x onerror="${CALL}">`,
  `</svg><img src=x onerror="${CALL}">`,
  `</template><img src=x onerror="${CALL}">`,
  // Ends of attributes.
  `"><img src=x onerror="${CALL}">`,
  `'><img src=x onerror='${CALL}'>`,
  `" onfocus="${CALL}" autofocus x="`,
  `' onfocus='${CALL}' autofocus x='`,
  `x onfocus=${CALL} autofocus`,
  '` onerror=`window.pwned=1',
  `" style="animation-name:x" onanimationstart="${CALL}" x="`,
  `" formaction="javascript:${CALL}" x="`,
  // Event handlers that need no click.
  `<img src=x onerror="${CALL}">`,
  `<img src=x:x onerror=${CALL}//`,
  `<IMG SRC="x" ONERROR="&#119;indow.pwned=1">`,
  `<svg onload="${CALL}">`,
  `<svg/onload=${CALL}>`,
  `<body onload="${CALL}">`,
  `<video><source onerror="${CALL}"></video>`,
  `<audio src=x onerror="${CALL}">`,
  `<input onfocus="${CALL}" autofocus>`,
  `<select onfocus="${CALL}" autofocus></select>`,
  `<textarea onfocus="${CALL}" autofocus></textarea>`,
  `<details open ontoggle="${CALL}">x</details>`,
  `<marquee onstart="${CALL}">x</marquee>`,
  `<style>@keyframes x{}</style><b style="animation-name:x" onanimationstart="${CALL}">x</b>`,
  `<svg><animate onbegin="${CALL}" attributeName=x dur=1s></svg>`,
  `<svg><set attributeName="href" to="javascript:${CALL}"/></svg>`,
  // Links and frames with a script as their address.
  `[click](javascript:${CALL})`,
  `[click](JaVaScRiPt:${CALL})`,
  `[click](java\tscript:${CALL})`,
  `[click](&#106;avascript:${CALL})`,
  `[click](<javascript:${CALL}>)`,
  `[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
  `[click](vbscript:msgbox(1))`,
  `[click][ref]\n\n[ref]: javascript:${CALL}`,
  `<javascript:${CALL}>`,
  `<a href="javascript:${CALL}">click</a>`,
  `<a href="\u0001javascript:${CALL}">click</a>`,
  `<iframe src="javascript:${CALL}"></iframe>`,
  `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`,
  `<object data="javascript:${CALL}"></object>`,
  `<embed src="javascript:${CALL}">`,
  `<form action="javascript:${CALL}"><button>Accept</button></form>`,
  `<base href="${HOST}/">`,
  `<meta http-equiv="refresh" content="0;url=javascript:${CALL}">`,
  `<meta http-equiv="refresh" content="0;url=${HOST}/">`,
  `<link rel="stylesheet" href="${HOST}/x.css">`,
  // Markdown that fetches or breaks out.
  `![x](${HOST}/x.png)`,
  `![x](x" onerror="${CALL})`,
  `![x](javascript:${CALL})`,
  `[x](https://example.org/" onmouseover="${CALL})`,
  `<https://example.org/"onmouseover="${CALL}">`,
  `\`\`\`html" onmouseover="${CALL}\n<img src=x onerror="${CALL}">\n\`\`\``,
  `<style>*{background:url(${HOST}/x.png)}</style>`,
  `<div style="background:url(${HOST}/x.png)">x</div>`,
  // Spellings that are decoded once too often.
  `%3Cscript%3E${CALL}%3C/script%3E`,
  `&lt;script&gt;${CALL}&lt;/script&gt;`,
  `\\u003cscript\\u003e${CALL}\\u003c/script\\u003e`,
  `\u{ff1c}script\u{ff1e}${CALL}\u{ff1c}/script\u{ff1e}`,
  `{{constructor.constructor("${CALL}")()}}`,
  `\${${CALL}}`,
];

/** Everything on a page that a hostile text could have become; a page must have none of it. */
export function found() {
  const bad = [];
  if (window.pwned) bad.push('a script ran');
  const ours = new Set([location.origin]);
  const address = /^[\s\u0000-\u001f]*(javascript|data|vbscript):/i;
  for (const element of document.querySelectorAll('*')) {
    const name = element.localName;
    for (const { name: attribute, value } of element.attributes) {
      if (/^on/i.test(attribute)) bad.push(`<${name} ${attribute}="${value}">`);
      if (/^(href|src|action|formaction|data|to|xlink:href)$/i.test(attribute) && address.test(value)) bad.push(`<${name} ${attribute}="${value}">`);
      if (/^(style|srcdoc|autofocus)$/i.test(attribute)) bad.push(`<${name} ${attribute}="${value}">`);
    }
    if (['iframe', 'object', 'embed', 'base', 'frame', 'marquee', 'math', 'video', 'audio', 'style'].includes(name)) bad.push(`<${name}>`);
    if (name === 'script' && !(element.src && ours.has(new URL(element.src).origin))) bad.push(`<script>${element.text.slice(0, 40)}`);
    if (name === 'link' && !ours.has(new URL(element.href, location).origin)) bad.push(`<link ${element.href}>`);
    if (name === 'img' && !ours.has(new URL(element.src, location).origin)) bad.push(`<img ${element.src}>`);
    if (name === 'meta' && element.httpEquiv === 'refresh') bad.push('<meta refresh>');
    if (name === 'a' && element.hasAttribute('href')) {
      const url = new URL(element.href);
      const rel = element.rel.split(/\s+/);
      if (url.origin !== location.origin && !(rel.includes('noopener') && rel.includes('nofollow'))) bad.push(`<a ${element.href} rel="${element.rel}">`);
    }
    if (name === 'form' && new URL(element.action, location).origin !== location.origin) bad.push(`<form ${element.action}>`);
  }
  return bad;
}
