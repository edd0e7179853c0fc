"""The page around the chapters: markup and style, nothing from elsewhere."""

from string import Template

PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --tint: #f4f7fa; --link: #0a5ca8; }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body { margin: 0; color: var(--ink); background: #fff; line-height: 1.55;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
header { background: #12324f; color: #fff; padding: 2.6rem 0 2.2rem; }
header a { color: #bfe0ff; }
header h1 { margin: 0 0 .5rem; font-size: clamp(1.6rem, 4.5vw, 2.3rem); line-height: 1.2; letter-spacing: -.01em; }
header p { margin: 0; max-width: 46rem; color: #d9e6f2; }
header > div, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
section { padding-top: 1.6rem; }
h2 { font-size: 1.5rem; line-height: 1.25; margin: 1rem 0 .6rem; padding-bottom: .4rem;
  border-bottom: 2px solid #12324f; }
h2 small { font-size: .85rem; font-weight: 400; color: var(--soft); white-space: nowrap; margin-left: .4rem; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
p { max-width: 46rem; }
a { color: var(--link); }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--tint); padding: .1em .3em;
  border-radius: 4px; overflow-wrap: anywhere; }
.run { color: var(--soft); font-size: .9rem; }
.note, figcaption { color: var(--soft); font-size: .88rem; max-width: 52rem; margin: .5rem 0; }
figcaption b { color: var(--ink); font-size: 1.05rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
.scroll > table { min-width: 100%; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; }
th.text, td.text { text-align: left; }
thead { background: var(--tint); }
thead tr:last-child th { border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; }
th.group { text-align: center; border-left: 1px solid var(--line); border-right: 1px solid var(--line); }
tbody tr:nth-child(even) { background: #fafbfc; }
td.paper { color: #6b4a00; background: #fff9ea; }
.facts th { text-align: left; vertical-align: top; font-weight: 600; white-space: normal; min-width: 9rem; }
.facts td { text-align: left; white-space: normal; }
figure { margin: 1.8rem 0; }
.keys { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .88rem; margin: .5rem 0; }
.panels { display: grid; gap: .6rem 1rem; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr));
  border: 1px solid var(--line); border-radius: 8px; padding: .8rem; }
.panels svg { display: block; width: 100%; height: auto; max-width: 34rem; margin: 0 auto; }
.badge { display: inline-block; font-size: .78rem; font-weight: 600; border-radius: 99px; padding: .08rem .6rem;
  white-space: nowrap; }
.holds { background: #dff3e4; color: #11602b; }
.undecided { background: #e9edf1; color: #3f4953; }
.does-not-hold { background: #fde3e0; color: #8f1d12; }
.standin { display: inline-block; font-size: .75rem; font-weight: 600; color: #a33b00; border: 1px solid #e0a585;
  border-radius: 4px; padding: 0 .35rem; white-space: nowrap; }
.banner { max-width: none; background: #fff4ec; border: 1px solid #e0a585; border-radius: 8px; padding: .7rem 1rem;
  margin: 1.4rem 0 0; }
.claim { border-left: 4px solid var(--line); padding: .1rem 0 .1rem .9rem; margin: 1rem 0; }
.claim p { margin: .2rem 0 0; color: var(--soft); }
.glance { list-style: none; padding: 0; margin: 0; }
.glance li { padding: .35rem 0; border-bottom: 1px solid #eef1f4; display: grid; gap: .1rem .8rem;
  grid-template-columns: 8.4rem 1fr; align-items: baseline; }
.glance small { color: var(--soft); white-space: nowrap; margin-left: .3rem; }
.glance a { color: var(--ink); text-decoration: none; }
.glance a:hover { text-decoration: underline; }
.glance .badge { text-align: center; }
@media (max-width: 40rem) { .glance li { grid-template-columns: 1fr; } .glance .badge { justify-self: start; } }
footer { color: var(--soft); font-size: .85rem; padding-top: 2rem; padding-bottom: 3rem; }
@media print { header { background: none; color: #000; } header p { color: #333; } .scroll { overflow: visible; } }
</style>
</head>
<body>
<header><div><h1>$title</h1><p>$lead</p></div></header>
<main>
$banner
$glance
$chapters
<section id="made"><h2>How this page was made</h2>
<p>The numbers are in <a href="results.json">results.json</a>: the same bytes whenever the seed, the options and the
data are the same, on any number of cores.</p>
$colophon
</section>
</main>
<footer>matroid-bandits $version</footer>
</body>
</html>
"""
)
