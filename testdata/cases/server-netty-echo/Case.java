import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutorGroup;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** An echo server whose handlers run in 4 threads beside the event loops; arguments: what they do, and how many clients there are. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int clients = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Journal journal = arguments[1].equals("journal") ? new Journal() : null;
        EventExecutorGroup handlers = new DefaultEventExecutorGroup(4, new DefaultThreadFactory("echo"));
        Channel server = new ServerBootstrap()
                .group(new NioEventLoopGroup(1, new DefaultThreadFactory("boss")), new NioEventLoopGroup(2, new DefaultThreadFactory("io")))
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(handlers, new EchoHandler(journal));
                    }
                }).bind("127.0.0.1", 0).sync().channel();
        Bootstrap bootstrap = new Bootstrap().group(new NioEventLoopGroup(1, new DefaultThreadFactory("client")))
                .channel(NioSocketChannel.class).handler(new EchoClient());
        for (int i = 0; i < clients; i++) {
            Channel client = bootstrap.connect(server.localAddress()).sync().channel();
            client.writeAndFlush(client.alloc().buffer().writeByte('e'));
        }
        // Connections that nobody uses.
        for (int i = 0; i < 12; i++) {
            bootstrap.connect(server.localAddress()).sync();
        }
        Meter.end(seconds, "echo");
    }
}

class EchoHandler extends ChannelInboundHandlerAdapter {
    private final Journal journal;

    EchoHandler(Journal journal) {
        this.journal = journal;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        Meter.handles();
        if (journal == null) {
            Meter.pause(5);
        } else {
            journal.append(((ByteBuf) message).getByte(0));
        }
        Meter.handled();
        context.writeAndFlush(message);
    }
}

/** Writes one entry after the other, and has room for 8 more. */
class Journal {
    private final BlockingQueue<Byte> entries = new ArrayBlockingQueue<>(8);

    Journal() {
        Meter.threads(1, "journal", this::write);
    }

    void append(byte entry) throws InterruptedException {
        Meter.waits();
        entries.put(entry);
        Meter.waited();
    }

    private void write() throws InterruptedException {
        entries.take();
        Meter.pause(20);
    }
}

/** Sends again what it gets. */
@io.netty.channel.ChannelHandler.Sharable
class EchoClient extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        context.writeAndFlush(message);
    }
}
