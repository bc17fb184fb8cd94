// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: protection domain, completion queues and the UD queue pair.
 *
 * The queue pair is made when the interface is registered and lives as long as
 * that: its number is part of the hardware address, so open and stop only move
 * it between RESET and RTS.  This room does what it is told; when is decided by
 * the control worker.
 *
 * A queue pair is emptied by moving it to ERR, upon which all outstanding work
 * completes, and by waiting until both rings are empty.  Should the HCA not
 * manage that, the queue pair is reset first, so that it cannot touch memory
 * any more, and then the rings are emptied by hand.
 *
 * Context: process, may sleep; start, stop and the modify calls run under
 * ctl_mutex.
 */
#include "ipoib_ib.h"

#include <linux/wait.h>

#include "ipoib.h"

static void ib_qp_event(struct ib_event *event, void *ctx)
{
	struct ipoib_dev *d = ctx;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		netdev_warn(d->dev, "queue pair: %s\n",
			    ib_event_msg(event->event));
		ipoib_kick(d, IPOIB_EV_RESET);
		break;
	default:
		break;
	}
}

static u32 ib_qp_flags(const struct ib_device *ca)
{
	u64 kcaps = ca->attrs.kernel_cap_flags;
	u32 flags = 0;

	if (kcaps & IBK_UD_TSO)
		flags |= IB_QP_CREATE_IPOIB_UD_LSO;
	if (kcaps & IBK_BLOCK_MULTICAST_LOOPBACK)
		flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if (ca->attrs.device_cap_flags & IB_DEVICE_MANAGED_FLOW_STEERING)
		flags |= IB_QP_CREATE_NETIF_QP;
	if (kcaps & IBK_RDMA_NETDEV_OPA)
		flags |= IB_QP_CREATE_NETDEV_USE;
	return flags;
}

static int ib_make_qp(struct ipoib_dev *d)
{
	struct ib_qp_init_attr attr = {
		.event_handler = ib_qp_event,
		.qp_context = d,
		.send_cq = d->txq.cq,
		.recv_cq = d->rxq.cq,
		.cap = {
			.max_send_wr = d->txq.size,
			.max_recv_wr = d->rxq.size,
			.max_send_sge = min_t(u32, d->ca->attrs.max_send_sge,
					      IPOIB_TX_SGE),
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_UD,
		.create_flags = ib_qp_flags(d->ca),
	};

	d->qp = ib_create_qp(d->pd, &attr);
	if (IS_ERR(d->qp))
		return PTR_ERR(d->qp);

	d->txq.qp = d->qp;
	d->rxq.qp = d->qp;
	d->txq.max_sge = max_t(u32, attr.cap.max_send_sge, 1);
	return 0;
}

static struct ib_cq *ib_make_cq(struct ipoib_dev *d, ib_comp_handler handler,
				u32 size, u32 vector)
{
	struct ib_cq_init_attr attr = {
		.cqe = size,
		.comp_vector = vector % d->ca->num_comp_vectors,
	};

	return ib_create_cq(d->ca, handler, NULL, d, &attr);
}

/**
 * ipoib_ib_init - make the verbs objects and rings of an interface
 * @d: interface; ca, port and port_mtu are set
 * @tx_size: slots of the send ring, a power of two
 * @rx_size: slots of the receive ring, a power of two
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno, with nothing left behind.
 */
int ipoib_ib_init(struct ipoib_dev *d, u32 tx_size, u32 rx_size)
{
	static atomic_t next_vector = ATOMIC_INIT(0);
	u32 vector = atomic_add_return(2, &next_vector);
	int err;

	err = ipoib_tx_init(d, tx_size);
	if (err)
		return err;
	err = ipoib_rx_init(d, rx_size);
	if (err)
		goto err_tx_ring;

	d->pd = ib_alloc_pd(d->ca, 0);
	if (IS_ERR(d->pd)) {
		err = PTR_ERR(d->pd);
		goto err_rx_ring;
	}
	d->rxq.cq = ib_make_cq(d, ipoib_rx_cq_event, d->rxq.size + 1, vector);
	if (IS_ERR(d->rxq.cq)) {
		err = PTR_ERR(d->rxq.cq);
		goto err_pd;
	}
	d->txq.cq = ib_make_cq(d, ipoib_tx_cq_event, d->txq.size + 1,
			       vector + 1);
	if (IS_ERR(d->txq.cq)) {
		err = PTR_ERR(d->txq.cq);
		goto err_rx_cq;
	}
	err = ib_make_qp(d);
	if (err)
		goto err_tx_cq;
	return 0;

err_tx_cq:
	ib_destroy_cq(d->txq.cq);
err_rx_cq:
	ib_destroy_cq(d->rxq.cq);
err_pd:
	ib_dealloc_pd(d->pd);
err_rx_ring:
	ipoib_rx_fini(d);
err_tx_ring:
	ipoib_tx_fini(d);
	return err;
}

/**
 * ipoib_ib_fini - undo ipoib_ib_init()
 * @d: interface, stopped, all address handles destroyed
 *
 * Context: process, may sleep.
 */
void ipoib_ib_fini(struct ipoib_dev *d)
{
	ib_destroy_qp(d->qp);
	ib_destroy_cq(d->txq.cq);
	ib_destroy_cq(d->rxq.cq);
	ib_dealloc_pd(d->pd);
	ipoib_rx_fini(d);
	ipoib_tx_fini(d);
}

/*
 * Peers go on sending while an interface is restarted: with the Q_Key that was
 * in force last their packets are no violations.  It is 0 before the first join.
 */
static int ib_to_init(struct ipoib_dev *d)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = d->pkey_index,
		.port_num = d->port,
		.qkey = d->mcast.qkey,
	};

	return ib_modify_qp(d->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_QKEY);
}

static int ib_to_rts(struct ipoib_dev *d)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int err;

	err = ib_modify_qp(d->qp, &attr, IB_QP_STATE);
	if (err)
		return err;

	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = 0;
	return ib_modify_qp(d->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static int ib_to(struct ipoib_dev *d, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(d->qp, &attr, IB_QP_STATE);
}

/**
 * ipoib_ib_start - bring the queue pair up and fill the receive ring
 * @d: interface, queue pair in RESET, P_Key index known
 *
 * Context: ctl_mutex; polling is on.
 * Return: 0 or a negative errno, with the queue pair back in RESET.
 */
int ipoib_ib_start(struct ipoib_dev *d)
{
	int err;

	lockdep_assert_held(&d->ctl_mutex);

	err = ib_to_init(d);
	if (err)
		return err;
	err = ipoib_rx_fill(d);
	if (!err)
		err = ib_to_rts(d);
	if (err) {
		ipoib_ib_stop(d);
		return err;
	}
	ipoib_tx_open(d);
	return 0;
}

/**
 * ipoib_ib_stop - drain both rings and put the queue pair into RESET
 * @d: interface
 *
 * Harmless when the queue pair is in RESET already.
 *
 * Context: ctl_mutex; polling is on.  Waits for the HCA, bounded.
 */
void ipoib_ib_stop(struct ipoib_dev *d)
{
	struct ipoib_txq *txq = &d->txq;
	struct ipoib_rxq *rxq = &d->rxq;
	unsigned long left;

	lockdep_assert_held(&d->ctl_mutex);

	ipoib_tx_close(d);
	ipoib_rx_close(d);
	if (ipoib_tx_drained(txq) && ipoib_rx_drained(rxq))
		goto reset;

	if (ib_to(d, IB_QPS_ERR))
		netdev_warn(d->dev, "cannot move the queue pair to ERR\n");
	left = wait_event_timeout(txq->drained, ipoib_tx_drained(txq),
				  IPOIB_DRAIN_TIMEOUT);
	wait_event_timeout(rxq->drained, ipoib_rx_drained(rxq),
			   max(left, 1ul));
	if (!ipoib_tx_drained(txq) || !ipoib_rx_drained(rxq))
		netdev_warn(d->dev, "%u sends and %u receives did not drain\n",
			    ipoib_ring_used(txq->head, txq->tail), rxq->posted);
reset:
	if (ib_to(d, IB_QPS_RESET))
		netdev_warn(d->dev, "cannot reset the queue pair\n");
	ipoib_tx_forget(d);
	ipoib_rx_forget(d);
}

/**
 * ipoib_ib_recover - after a failed send, make the send queue work again
 * @d: interface
 *
 * A UD queue pair goes to SQE when a send fails and back to RTS by hand.
 *
 * Context: ctl_mutex.
 * Return: 0 when it can send now, or a negative errno when it has to be
 * restarted.
 */
int ipoib_ib_recover(struct ipoib_dev *d)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int err;

	err = ib_query_qp(d->qp, &attr, IB_QP_STATE, &init);
	if (err)
		return err;
	if (attr.qp_state == IB_QPS_RTS)
		return 0;
	if (attr.qp_state != IB_QPS_SQE)
		return -EIO;

	attr.qp_state = IB_QPS_RTS;
	attr.cur_qp_state = IB_QPS_SQE;
	return ib_modify_qp(d->qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE);
}

/**
 * ipoib_ib_set_qkey - give the queue pair the Q_Key of the partition
 * @d: interface
 * @qkey: Q_Key of the broadcast group, RFC 4391 section 5
 *
 * Context: ctl_mutex.
 * Return: 0 or a negative errno.
 */
int ipoib_ib_set_qkey(struct ipoib_dev *d, u32 qkey)
{
	struct ib_qp_attr attr = { .qkey = qkey };

	return ib_modify_qp(d->qp, &attr, IB_QP_QKEY);
}

/**
 * ipoib_ib_attach - receive what is sent to a group
 * @d: interface
 * @mgid: group
 * @mlid: its multicast LID
 *
 * Context: ctl_mutex.
 * Return: 0 or a negative errno.
 */
int ipoib_ib_attach(struct ipoib_dev *d, union ib_gid *mgid, u16 mlid)
{
	return ib_attach_mcast(d->qp, mgid, mlid);
}

/**
 * ipoib_ib_detach - undo ipoib_ib_attach()
 * @d: interface
 * @mgid: group
 * @mlid: its multicast LID
 *
 * Context: ctl_mutex.
 */
void ipoib_ib_detach(struct ipoib_dev *d, union ib_gid *mgid, u16 mlid)
{
	int err = ib_detach_mcast(d->qp, mgid, mlid);

	if (err)
		netdev_warn(d->dev, "cannot detach %pI6: %pe\n", mgid->raw,
			    ERR_PTR(err));
}
