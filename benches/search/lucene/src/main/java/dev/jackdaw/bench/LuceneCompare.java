package dev.jackdaw.bench;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongField;
import org.apache.lucene.document.SortedDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.facet.FacetsCollector;
import org.apache.lucene.facet.StringDocValuesReaderState;
import org.apache.lucene.facet.StringValueFacetCounts;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * The same rows, queries and work as the driver in Rust beside this folder, on Lucene with its own
 * defaults: one indexing thread, 128 MiB of buffer, maps of its files, no cache of queries.
 *
 * <p>Started by {@code cargo xtask bench search}: ROWS QUERIES DIRECTORY. One line of JSON for each
 * piece of work.
 */
public final class LuceneCompare implements Closeable {
  private static final int TOP = 10;
  private static final int CHUNK = 1_000;
  private static final int SINGLE_COMMITS = 2_000;
  private static final long WARM_UP_NANOS = 300_000_000L;
  private static final long MEASURED_NANOS = 700_000_000L;
  /** The compiler of the virtual machine needs more warming than the pages do. */
  private static final int COMPILER_ROUNDS = 3;
  private static final Sort BY_NUMBER = new Sort(LongField.newSortField("num", true, org.apache.lucene.search.SortedNumericSelector.Type.MAX));

  private final IndexWriter writer;
  private DirectoryReader reader;
  private IndexSearcher searcher;

  private LuceneCompare(Path directory) throws IOException {
    Analyzer analyzer = new StandardAnalyzer(CharArraySet.EMPTY_SET);
    IndexWriterConfig config = new IndexWriterConfig(analyzer);
    config.setRAMBufferSizeMB(128);
    writer = new IndexWriter(new MMapDirectory(directory), config);
    reader = DirectoryReader.open(writer);
    searcher = searcherOf(reader);
  }

  private record Row(
      String id, String route, String[] ids, String artist, String title, long year, long num, String genre, String text) {
    static Row of(String line) {
      String[] c = line.split("\t", -1);
      return new Row(c[0], c[1], c[2].split(","), c[3], c[4], Long.parseLong(c[5]), Long.parseLong(c[6]), c[7], c[8]);
    }

    Row changed() {
      return new Row(id, route, ids, artist, title, year, num + 1, genre, text + " again");
    }
  }

  private record Asked(String clazz, String kind, String[] arguments) {
    static Asked of(String line) {
      String[] c = line.split("\t", -1);
      return new Asked(c[0], c[1], Arrays.copyOfRange(c, 2, c.length));
    }
  }

  private interface Take {
    void rows(List<Row> rows) throws IOException;
  }

  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 3) {
      throw new IllegalArgumentException("usage: ROWS QUERIES DIRECTORY");
    }
    Path rows = Path.of(arguments[0]);
    Path directory = Path.of(arguments[2]);
    List<Asked> queries = Files.readAllLines(Path.of(arguments[1])).stream().map(Asked::of).toList();
    commits(rows, directory.resolve("commits"), CHUNK, Integer.MAX_VALUE, "commit every 1,000");
    commits(rows, directory.resolve("single"), 1, SINGLE_COMMITS, "commit every row");
    Path whole = directory.resolve("whole");
    Started started = new Started(whole);
    try (LuceneCompare lucene = new LuceneCompare(whole)) {
      long[] count = {0};
      eachChunk(rows, CHUNK, Integer.MAX_VALUE, chunk -> {
        count[0] += chunk.size();
        lucene.add(chunk, false);
      });
      lucene.commit();
      started.print("one commit", count[0], List.of());
      lucene.ask(queries, "fresh");
      lucene.update(rows, whole);
      lucene.ask(queries, "updated");
    }
  }

  private static void commits(Path rows, Path directory, int every, int most, String work) throws IOException {
    Started started = new Started(directory);
    List<Long> times = new ArrayList<>();
    try (LuceneCompare lucene = new LuceneCompare(directory)) {
      long[] count = {0};
      eachChunk(rows, every, most, chunk -> {
        count[0] += chunk.size();
        lucene.add(chunk, false);
        times.add(lucene.commitVisible(chunk));
      });
      started.print(work, count[0], times);
    }
    deleteAll(directory);
  }

  private void update(Path rows, Path directory) throws IOException {
    List<Row> changed = new ArrayList<>();
    int[] position = {0};
    eachChunk(rows, CHUNK, Integer.MAX_VALUE, chunk -> {
      for (Row row : chunk) {
        if (position[0]++ % 5 == 0) {
          changed.add(row.changed());
        }
      }
    });
    Started started = new Started(directory);
    List<Long> times = new ArrayList<>();
    for (int from = 0; from < changed.size(); from += CHUNK) {
      List<Row> chunk = changed.subList(from, Math.min(from + CHUNK, changed.size()));
      add(chunk, true);
      times.add(commitVisible(chunk));
    }
    started.print("update 20 %", changed.size(), times);
  }

  private void add(List<Row> rows, boolean isUpdate) throws IOException {
    for (Row row : rows) {
      Document document = new Document();
      document.add(new StringField("id", row.id, Field.Store.YES));
      document.add(new StringField("route", row.route, Field.Store.NO));
      for (String id : row.ids) {
        document.add(new StringField("ids", id, Field.Store.NO));
      }
      document.add(new StringField("artist", row.artist, Field.Store.NO));
      document.add(new StringField("title", row.title, Field.Store.NO));
      document.add(new LongField("year", row.year, Field.Store.NO));
      document.add(new LongField("num", row.num, Field.Store.NO));
      document.add(new StringField("genre", row.genre, Field.Store.NO));
      document.add(new SortedDocValuesField("genre", new BytesRef(row.genre)));
      document.add(new TextField("text", row.text, Field.Store.NO));
      if (isUpdate) {
        writer.updateDocument(new Term("id", row.id), document);
      } else {
        writer.addDocument(document);
      }
    }
  }

  private void commit() throws IOException {
    writer.commit();
    DirectoryReader newer = DirectoryReader.openIfChanged(reader, writer);
    if (newer != null) {
      reader.close();
      reader = newer;
      searcher = searcherOf(reader);
    }
  }

  private long commitVisible(List<Row> rows) throws IOException {
    long started = System.nanoTime();
    commit();
    String last = rows.get(rows.size() - 1).ids[0];
    if (answer(new Asked("", "term", new String[] {"ids", last})) == 0) {
      throw new IllegalStateException("Lucene does not find what it committed");
    }
    return System.nanoTime() - started;
  }

  private static IndexSearcher searcherOf(DirectoryReader reader) {
    IndexSearcher searcher = new IndexSearcher(reader);
    searcher.setQueryCache(null);
    return searcher;
  }

  private void ask(List<Asked> queries, String state) throws IOException {
    for (int round = 0; round < COMPILER_ROUNDS; round++) {
      for (Asked query : queries) {
        answer(query);
      }
    }
    int from = 0;
    while (from < queries.size()) {
      int to = from;
      long rows = 0;
      while (to < queries.size() && queries.get(to).clazz.equals(queries.get(from).clazz)) {
        rows += answer(queries.get(to++));
      }
      List<Asked> clazz = queries.subList(from, to);
      repeat(clazz, WARM_UP_NANOS);
      List<Long> times = repeat(clazz, MEASURED_NANOS);
      System.out.printf(
          Locale.ROOT,
          "{\"engine\":\"lucene\",\"work\":\"%s\",\"state\":\"%s\",\"p50_us\":%s,\"p99_us\":%s,\"answered\":%d,\"rows\":%d}%n",
          clazz.get(0).clazz, state, at(times, 0.5), at(times, 0.99), times.size(), rows);
      from = to;
    }
  }

  private List<Long> repeat(List<Asked> queries, long nanos) throws IOException {
    long started = System.nanoTime();
    List<Long> times = new ArrayList<>();
    for (int position = 0; System.nanoTime() - started < nanos; position++) {
      long before = System.nanoTime();
      answer(queries.get(position % queries.size()));
      times.add(System.nanoTime() - before);
    }
    return times;
  }

  private long answer(Asked query) throws IOException {
    String[] a = query.arguments;
    return switch (query.kind) {
      case "term" -> best(new TermQuery(new Term("ids", a[1])), 0);
      case "termsort" -> byNumber(new TermQuery(new Term("genre", a[1])), 0);
      case "pagesort" -> byNumber(new TermQuery(new Term("genre", a[1])), Integer.parseInt(a[0]));
      case "prefixsort" -> byNumber(new PrefixQuery(new Term("route", a[0])), 0);
      case "and" -> best(words(a, BooleanClause.Occur.MUST), 0);
      case "or" -> best(words(a, BooleanClause.Occur.SHOULD), 0);
      case "page" -> best(words(Arrays.copyOfRange(a, 1, a.length), BooleanClause.Occur.SHOULD), Integer.parseInt(a[0]));
      case "rangesort" -> byNumber(years(a), 0);
      case "phrase" -> best(new PhraseQuery("text", a[0], a[1]), 0);
      case "wildtext" -> best(new WildcardQuery(new Term("text", a[0])), 0);
      case "wildkw" -> best(new WildcardQuery(new Term("title", a[0])), 0);
      case "fuzzy" -> best(new FuzzyQuery(new Term("text", a[0]), Integer.parseInt(a[1])), 0);
      case "facet" -> facet(a.length == 0 ? new MatchAllDocsQuery() : words(a, BooleanClause.Occur.SHOULD));
      case "count_or" -> searcher.count(words(a, BooleanClause.Occur.SHOULD));
      case "count_and" -> searcher.count(words(a, BooleanClause.Occur.MUST));
      case "count_range" -> searcher.count(years(a));
      case "allsort" -> byNumber(new MatchAllDocsQuery(), 0);
      case "kwand" -> best(
          new BooleanQuery.Builder()
              .add(new TermQuery(new Term("artist", a[0])), BooleanClause.Occur.MUST)
              .add(new TermQuery(new Term("text", a[1])), BooleanClause.Occur.MUST)
              .build(),
          0);
      default -> throw new IllegalArgumentException("there is no kind of query " + query.kind);
    };
  }

  private static Query words(String[] words, BooleanClause.Occur occur) {
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    for (String word : words) {
      all.add(new TermQuery(new Term("text", word)), occur);
    }
    return all.build();
  }

  private static Query years(String[] a) {
    return LongField.newRangeQuery("year", Long.parseLong(a[0]), Long.parseLong(a[1]));
  }

  private long best(Query query, int skip) throws IOException {
    return page(searcher.search(query, skip + TOP), skip);
  }

  private long byNumber(Query query, int skip) throws IOException {
    return page(searcher.search(query, skip + TOP, BY_NUMBER), skip);
  }

  /** Reads the id of each row after the skipped ones. */
  private long page(TopDocs found, int skip) throws IOException {
    long rows = 0;
    for (int at = skip; at < found.scoreDocs.length; at++) {
      ScoreDoc row = found.scoreDocs[at];
      if (searcher.storedFields().document(row.doc, Set.of("id")).get("id") == null) {
        throw new IllegalStateException("a row has no id");
      }
      rows++;
    }
    return rows;
  }

  private long facet(Query query) throws IOException {
    FacetsCollector collector = new FacetsCollector();
    searcher.search(query, collector);
    StringDocValuesReaderState state = new StringDocValuesReaderState(reader, "genre");
    return new StringValueFacetCounts(state, collector).getAllChildren("genre").labelValues.length;
  }

  @Override
  public void close() throws IOException {
    reader.close();
    writer.close();
  }

  private static void eachChunk(Path rows, int rowsEach, int chunksMax, Take take) throws IOException {
    try (BufferedReader lines = Files.newBufferedReader(rows)) {
      List<Row> chunk = new ArrayList<>(rowsEach);
      int chunks = 0;
      for (String line = lines.readLine(); line != null && chunks < chunksMax; line = lines.readLine()) {
        chunk.add(Row.of(line));
        if (chunk.size() == rowsEach) {
          take.rows(chunk);
          chunk = new ArrayList<>(rowsEach);
          chunks++;
        }
      }
      if (!chunk.isEmpty()) {
        take.rows(chunk);
      }
    }
  }

  private static void deleteAll(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  /** In microseconds; {@code null} without times. */
  private static String at(List<Long> times, double share) {
    if (times.isEmpty()) {
      return "null";
    }
    List<Long> sorted = times.stream().sorted().toList();
    double nanos = sorted.get((int) Math.round((sorted.size() - 1) * share));
    return String.format(Locale.ROOT, "%.3f", nanos / 1e3);
  }

  /** Work under way: when it began and what had been used by then. */
  private static final class Started {
    private final Path directory;
    private final long at = System.nanoTime();
    private final long processor = processorNanos();
    private final long written;

    Started(Path directory) throws IOException {
      this.directory = directory;
      Files.createDirectories(directory);
      written = writtenBytes(directory);
    }

    void print(String work, long rows, List<Long> commits) throws IOException {
      double seconds = (System.nanoTime() - at) / 1e9;
      double used = Math.max((processorNanos() - processor) / 1e9, 0.01);
      long bytes;
      try (Stream<Path> files = Files.walk(directory)) {
        bytes = files.filter(Files::isRegularFile).mapToLong(LuceneCompare::size).sum();
      }
      System.out.printf(
          Locale.ROOT,
          "{\"engine\":\"lucene\",\"work\":\"%s\",\"rows_per_second\":%f,\"rows_per_processor_second\":%f,\"written_mib\":%d,"
              + "\"disk_mib\":%d,\"peak_memory_mib\":%d,\"p50_us\":%s,\"p99_us\":%s}%n",
          work, rows / seconds, rows / used, (writtenBytes(directory) - written) >> 20, bytes >> 20,
          peakMemoryKib() >> 10, LuceneCompare.at(commits, 0.5), LuceneCompare.at(commits, 0.99));
    }
  }

  private static long size(Path path) {
    try {
      return Files.size(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long processorNanos() {
    var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return system.getProcessCpuTime();
  }

  private static long peakMemoryKib() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmHWM:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst()
        .orElse(0);
  }

  /** Bytes that the disk under a directory was given so far; 0 when the kernel does not count them. */
  private static long writtenBytes(Path directory) throws IOException {
    long device = (Long) Files.getAttribute(directory, "unix:dev");
    long major = (device >> 8) & 0xfff | (device >> 32) & ~0xfffL;
    long minor = device & 0xff | (device >> 12) & ~0xffL;
    Path counters = Path.of("/sys/dev/block/" + major + ":" + minor + "/stat");
    if (!Files.exists(counters)) {
      return 0;
    }
    String[] fields = Files.readString(counters).trim().split("\\s+");
    return Long.parseLong(fields[6]) * 512;
  }
}
