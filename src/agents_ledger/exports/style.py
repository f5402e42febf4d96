"""How a thread looks in a browser: light or dark as the reader has it, nothing from elsewhere."""

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --dim: #656d76; --page: #fff; --card: #f6f8fa; --line: #d1d9e0;
  --user: #0969da; --bad: #cf222e; --added: #dafbe1; --taken: #ffebe9; --place: #ddf4ff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; --page: #0d1117; --card: #151b23;
  --line: #3d444d; --user: #4493f8; --bad: #f85149; --added: #12361e; --taken: #4a1a1c; --place: #12304f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; color: var(--ink); background: var(--page);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } a { color: var(--user); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0; }
dt { color: var(--dim); } dd { margin: 0; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { margin: .5rem 0; padding: .5rem .75rem; background: var(--card); border-radius: 6px; white-space: pre-wrap;
  max-height: 40rem; overflow: auto; }
:not(pre) > code { background: var(--card); padding: .1em .3em; border-radius: 4px; }
section { border-top: 1px solid var(--line); margin-top: 1.5rem; padding-top: .5rem; content-visibility: auto;
  contain-intrinsic-size: auto 30rem; }
section > header { color: var(--dim); font-size: .85rem; }
section > header h2 { display: inline; font-size: 1rem; color: var(--ink); }
section > header nav { float: right; } section > header nav a { text-decoration: none; padding: 0 .3rem; }
article { margin: .75rem 0; padding-left: .75rem; border-left: 3px solid var(--line); }
article.user { border-color: var(--user); } article > h3 { margin: 0; font-size: .8rem; color: var(--dim); }
.words { unicode-bidi: isolate; }
.words > :first-child { margin-top: .25rem; } .words > :last-child { margin-bottom: .25rem; }
.words table { border-collapse: collapse; }
.words td, .words th { border: 1px solid var(--line); padding: .2rem .5rem; }
details { margin: .4rem 0; border: 1px solid var(--line); border-radius: 6px; padding: .25rem .6rem; }
summary { cursor: pointer; color: var(--dim); } summary b { color: var(--ink); } .bad { color: var(--bad); }
img { max-width: 100%; border-radius: 6px; }
.diff span { display: block; } .diff .a { background: var(--added); } .diff .d { background: var(--taken); }
.diff .p { background: var(--place); color: var(--dim); }
@media print { details > * { display: block; } pre { max-height: none; } }
""".strip()
